import { expect, test } from 'vitest';
import { titleOf, plainTitle } from './title';

test.each([
  ['What time is it? **Bold** `code`', 'What time is it? Bold code'],
  ['## The *plan* for __Monday__', 'The plan for Monday'],
  ['**Important: do the', 'Important: do the'],
  ['See [the page](https://example.org/a_b)', 'See the page'],
  ['~~old~~ ***both***', 'old both'],
  ['2 * 3 * 4 and a_b_c, x**2', '2 * 3 * 4 and a_b_c, x**2'],
  ['#hashtag stays', '#hashtag stays'],
  ['const f = a => a ** 2', 'const f = a => a ** 2'],
  ['It burns [01976c1e-7a4b-7def-8123-456789abcde2:12].', 'It burns.'],
])('%s is shown as %s', (title, shown) => {
  expect(plainTitle(title)).toBe(shown);
});

test('a title of nothing but marks has another name', () => {
  expect(titleOf({ title: '' })).toBe('Untitled');
  expect(titleOf({ title: '' }, 'A conversation')).toBe('A conversation');
});
