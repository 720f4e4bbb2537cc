import { expect, test } from 'vitest';
import { resultText, worded } from './parts';
import type { Message } from './types';

const content = (value: object) => value as Message['content'];

test('another text stands where the first one stood, and files stay', () => {
  const image = { type: 'image', file_id: 'f', name: 'a.png' };
  const link = { type: 'link', url: 'https://example.org' };
  const parts = [image, { type: 'text', text: 'Look' }, link, { type: 'text', text: 'there' }];
  expect(worded(content({ parts, text: 'Look\n\nthere', files: ['f'], think: true }), 'See')).toEqual({
    parts: [image, { type: 'text', text: 'See' }, link],
    think: true,
  });
  expect(worded(content({ parts: [image], text: '', files: ['f'] }), 'See')).toEqual({ parts: [{ type: 'text', text: 'See' }, image] });
});

test('a result is shown in its order, files by their names', () => {
  const parts = [
    { type: 'text', text: 'Done' },
    { type: 'image', file_id: 'f', name: 'a.png' },
    { type: 'object', object: { n: 1 } },
    { type: 'link', url: 'https://example.org', title: 'There' },
  ];
  expect(resultText(content({ parts }))).toBe('Done\n[image a.png]\n{\n  "n": 1\n}\nThere: https://example.org');
  expect(resultText(content({ parts: [], result: null }))).toBe('null');
});
