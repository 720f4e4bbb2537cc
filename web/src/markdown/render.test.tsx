// @vitest-environment happy-dom
import { act } from 'react';
import { createRoot } from 'react-dom/client';
import { beforeAll, expect, test } from 'vitest';
import { Markdown, readingHere } from './markdown';
import { Checked } from './source';

beforeAll(async () => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  await readingHere;
});

function shown(text: string): HTMLElement {
  const element = document.createElement('div');
  act(() => createRoot(element).render(<Markdown text={text} complete />));
  return element;
}

test.each([
  ['<script>alert(1)</script>', 'script'],
  ['<img src=x onerror=alert(1)>', 'img'],
  ['text <iframe src="https://example.com"></iframe>', 'iframe'],
  ['![x](https://example.com/x.png)', 'img'],
  ['<svg onload=alert(1)>', 'svg'],
  ['<style>body{display:none}</style>', 'style'],
])('%s makes no element', (text, tag) => {
  const element = shown(text);
  expect(element.querySelector(tag)).toBeNull();
  expect(element.textContent).not.toBe('');
});

test.each(['[x](javascript:alert(1))', '[x](JaVaScRiPt:alert(1))', '[x](data:text/html,x)', '[x](vbscript:x)', '<javascript:alert(1)>', '[x](//example.com)'])('%s is not a link', (text) => {
  expect(shown(text).querySelector('a')).toBeNull();
});

test('a link sends no referrer', () => {
  const link = shown('[x](https://example.com)').querySelector('a')!;
  expect(link.rel).toContain('noopener');
  expect(link.rel).toContain('noreferrer');
});

test('characters that HTML escapes are shown as they were written', () => {
  expect(shown('a < b & "c" `<d>`').textContent).toBe('a < b & "c" <d>');
});

test.each(['>', '> - ', '- > '])('%s again and again makes no endless nest', (level) => {
  const element = shown(level.repeat(5_000) + 'the end');
  expect(element.querySelectorAll('blockquote, li').length).toBeLessThan(50);
  expect(element.textContent).toContain('the end');
});

test('a line that would take minutes to read stays as it was written', () => {
  const line = '_a_ &amp; '.repeat(1_500);
  const element = shown(`${line}\n\nand _this_`);
  expect(element.querySelector('p')!.textContent === line).toBe(true); // nobody reads the difference of such texts
  expect([...element.querySelectorAll('em')].map((one) => one.textContent)).toEqual(['this']);
});

test('many long paragraphs are read up to a bound together', () => {
  const paragraph = `_${'word '.repeat(1_800)}word_`;
  const element = shown(Array<string>(10).fill(paragraph).join('\n\n'));
  expect(element.querySelectorAll('p').length).toBe(10);
  expect(element.querySelectorAll('em').length).toBe(1);
});

const SESSION = '01976c1e-7a4b-7def-8123-456789abcde2';

test('a source is a link to its message, and other brackets stay as they are', () => {
  const element = shown(`It burns **by itself [${SESSION}:12]**, [1], [a:2] and [${SESSION}:].`);
  const [link, ...more] = element.querySelectorAll('a');
  expect(more).toEqual([]);
  expect(link!.getAttribute('href')).toBe(`/c/${SESSION}?at=12`);
  expect(link!.closest('strong')).not.toBeNull();
  expect(element.textContent).toBe(`It burns by itself [12], [1], [a:2] and [${SESSION}:].`);
  expect(shown(`\`[${SESSION}:12]\``).querySelector('a')).toBeNull();
});

test('a source that the server has not checked is text with a hint', () => {
  const element = document.createElement('div');
  const text = `It burns [${SESSION.toUpperCase()}:12], and never goes out [${SESSION}:13].`;
  act(() =>
    createRoot(element).render(
      <Checked value={new Set([`${SESSION}:12`])}>
        <Markdown text={text} complete />
      </Checked>,
    ),
  );
  const [link, ...more] = element.querySelectorAll('a');
  expect(more).toEqual([]);
  expect(link!.title).toContain('checked by the server');
  const unchecked = element.querySelector<HTMLElement>('[data-source="unchecked"]');
  expect(unchecked!.title).toContain('has not checked');
  expect(unchecked!.textContent).toContain('[13]');
});
