import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { SnippetText } from './snippet';

const marked = (text: string, marks: [number, number][]) => renderToStaticMarkup(<SnippetText snippet={{ text, marks }} />).replace(/ class="[^"]*"|<\/?span>/g, '');

test('matches are marked, counted in code points', () => {
  expect(marked('a 🙂🙂 red rose', [[5, 8]])).toBe('a 🙂🙂 <mark>red</mark> rose');
  expect(marked('red and red', [[0, 3], [8, 11]])).toBe('<mark>red</mark> and <mark>red</mark>');
  expect(marked('nothing', [])).toBe('nothing');
});

test('a snippet is text, whatever it says', () => {
  expect(marked('<b onclick=x>red</b>', [[0, 3]])).toBe('<mark>&lt;b </mark>onclick=x&gt;red&lt;/b&gt;');
});
