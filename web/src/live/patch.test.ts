import { expect, test } from 'vitest';
import type { PatchOperation } from '../api/events';
import { pointerTo, wayOf } from '../components/pointer';
import { patched, shared, valueAt } from './patch';

test('operations apply in order, and only the levels above a change are new', () => {
  const before = { a: { text: 'Bo' }, list: [1, 3], 'x/y~z': 1, kept: { deep: true } };
  const operations: PatchOperation[] = [
    { op: 'append', path: '/a/text', value: 'nn' },
    { op: 'add', path: '/list/1', value: 2 },
    { op: 'add', path: '/list/-', value: 4 },
    { op: 'remove', path: '/x~1y~0z' },
    { op: 'move', path: '/b', from: '/a/text' },
    { op: 'copy', path: '/c', from: '/b' },
    { op: 'replace', path: '/b', value: null },
    { op: 'add', path: '/__proto__', value: 1 },
  ];
  const after = patched(before, operations) as typeof before;
  expect(JSON.stringify(after)).toBe('{"a":{},"list":[1,2,3,4],"kept":{"deep":true},"b":null,"c":"Bonn","__proto__":1}');
  expect(after.kept).toBe(before.kept);
  expect(before).toEqual({ a: { text: 'Bo' }, list: [1, 3], 'x/y~z': 1, kept: { deep: true } });
  expect(patched(undefined, [{ op: 'replace', path: '', value: { a: 1 } }])).toEqual({ a: 1 });
});

test.each([
  ['replace', '/none'],
  ['remove', '/list/7'],
  ['add', '/list/01x'],
  ['add', '/a/b/c'],
  ['append', '/toString'],
] as [PatchOperation['op'], string][])('%s of %s does not apply', (op, path) => {
  expect(() => patched({ a: {}, list: [1] }, [{ op, path, value: 1 }])).toThrow(RangeError);
});

test('a pointer leads to its value', () => {
  const pointer = pointerTo(pointerTo('', 'a/b~c'), '0');
  expect(pointer).toBe('/a~1b~0c/0');
  expect(valueAt({ 'a/b~c': ['here'] }, wayOf(pointer))).toBe('here');
});

test('parts that two values share are one', () => {
  const before = { a: [{ b: 1 }, { c: 2 }], d: 'x' };
  const now = shared(before, { a: [{ b: 1 }, { c: 3 }], d: 'x' }) as typeof before;
  expect(now.a[0]).toBe(before.a[0]);
  expect(now.a[1]).toEqual({ c: 3 });
  expect(shared(before, structuredClone(before))).toBe(before);
  expect(shared({ a: 1, b: 2 }, { b: 2, a: 1 })).toEqual({ b: 2, a: 1 });
});
