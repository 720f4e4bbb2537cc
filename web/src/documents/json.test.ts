import { expect, test } from 'vitest';
import { shownJSON, versionBody } from './json';

test('JSON is indented unless that would change it', () => {
  expect(shownJSON('{"a":[1]}')).toBe('{\n  "a": [\n    1\n  ]\n}\n');
  for (const kept of ['{"n":12345678901234567890}', '{"n":1.0}', '{"2":0,"1":0}', 'no JSON']) expect(shownJSON(kept)).toBe(kept);
});

test('a version is written with the digits that somebody typed', () => {
  const body = versionBody('json', '{"n": 12345678901234567890}', { base_version: 3 });
  expect(body).toBe('{"base_version":3,"content":{"n": 12345678901234567890}}');
  expect(versionBody('json', '"text"', {})).toBe('{"content":"text"}');
  expect(() => versionBody('json', '{"n":', {})).toThrow();
  expect(versionBody('text', 'a "b"', { base_version: 1 })).toBe('{"base_version":1,"content":"a \\"b\\""}');
});
