import { expect, test } from 'vitest';
import { passage } from './words';

test('a quotation is found by its lines if it occurs once', () => {
  const text = 'one\ntwo\nthree\ntwo\n';
  expect(passage(text, 'one')).toBe(', line 1');
  expect(passage(text, 'two\nthree')).toBe(', lines 2 to 3');
  expect(passage(text, 'two')).toBe('');
  expect(passage(text, 'four')).toBe('');
});
