import { expect, test } from 'vitest';
import { read, resultText } from './parts';
import type { Message } from './types';

const content = (value: object) => value as Message['content'];

test('content in parts reads like its short form', () => {
  const parts = content({
    parts: [
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'Look' },
      { type: 'image', file_id: 'f', name: 'a.png' },
      { type: 'text', text: 'there' },
      { type: 'link', url: 'https://example.org' },
    ],
  });
  expect(read(parts)).toMatchObject({ text: 'Look\n\nthere', reasoning: 'Hm.', refusal: '', files: ['f'], links: ['https://example.org'] });
  const short = content({ text: 'Look' });
  expect(read(short)).toBe(short);
});

test('a result in parts is shown in order, files by their names', () => {
  const parts = [
    { type: 'text', text: 'Done' },
    { type: 'image', file_id: 'f', name: 'a.png' },
    { type: 'object', object: { n: 1 } },
    { type: 'link', url: 'https://example.org', title: 'There' },
  ];
  expect(resultText(content({ parts }))).toBe('Done\n[image a.png]\n{\n  "n": 1\n}\nThere: https://example.org');
  expect(resultText(content({ result: 'plain' }))).toBe('plain');
});
