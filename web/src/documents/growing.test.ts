import { expect, test } from 'vitest';
import { Growing } from './growing';

const TEXTS = [
  '{"name":"Plan","content":"# One\\n\\nA \\"line\\" with \\u00e9 and \\ud83d\\ude00.","labels":["a","b"],"n":-1.5e3,"yes":true,"none":null}',
  '{ "id" : "x" , "patch" : [ { "op" : "add" , "path" : "/a/b" , "value" : { "c" : [ 1 , [ ] , { } ] } } ] }',
  '{"__proto__":{"a":1},"constructor":"b"}',
  '[1,2,[3,"four"]]',
];

test.each(TEXTS)('cut anywhere, the value is part of the final one, and ends as it: %s', (text) => {
  const final = JSON.parse(text) as unknown;
  for (let step = 1; step <= 7; step++) {
    const growing = new Growing();
    for (let end = step; end < text.length; end += step) isPart(growing.read(text.slice(0, end)), final);
    expect(JSON.stringify(growing.read(text))).toBe(JSON.stringify(final));
    expect(growing.failed).toBe(false);
  }
});

function isPart(value: unknown, of: unknown): void {
  if (value === undefined) return;
  // Half of a pair of surrogates is what there is so far.
  if (typeof value === 'string') expect(String(of).startsWith(value)).toBe(true);
  else if (typeof value === 'object' && value !== null) for (const [name, one] of Object.entries(value)) isPart(one, (of as Record<string, unknown>)[name]);
  else expect(value).toBe(of);
}

test('what is complete keeps its identity, and what grows does not', () => {
  const growing = new Growing();
  const first = growing.read('{"a":{"b":[1]},"c":{"d":"te') as { a: object; c: object };
  const second = growing.read('{"a":{"b":[1]},"c":{"d":"text"},') as typeof first;
  expect(second).not.toBe(first);
  expect(second.a).toBe(first.a);
  expect(second.c).not.toBe(first.c);
  expect(first.c).toEqual({ d: 'te' });
  expect(growing.read('{"a":{"b":[1]},"c":{"d":"text"},')).toBe(second);
});

test('another text starts over; one that is not JSON keeps what was read', () => {
  const growing = new Growing();
  expect(growing.read('{"a":1,')).toEqual({ a: 1 });
  expect(growing.read('{"b":2,')).toEqual({ b: 2 });
  expect(growing.read('{"b":2,]')).toEqual({ b: 2 });
  expect(growing.failed).toBe(true);
  expect(new Growing().read('['.repeat(10_000))).toBeInstanceOf(Array);
});
