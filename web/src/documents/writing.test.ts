import { expect, test } from 'vitest';
import { changed, draftOf, edited } from './writing';
import { Growing } from './growing';

const part = (text: string) => draftOf(new Growing().read(text), false);

test('edits count once they are complete, and the last one while its new text grows', () => {
  expect(part('{"edits":[{"old":"dra').edits).toEqual([]);
  expect(part('{"edits":[{"old":"draft"').edits).toEqual([]);
  expect(part('{"edits":[{"old":"draft","new":"re').edits).toEqual([{ old: 'draft', new: 're', all: false }]);
  expect(part('{"edits":[{"new":"ready","old":"dra').edits).toEqual([]); // what is replaced is not known yet
  expect(draftOf({ edits: [{ new: 'ready', old: 'draft' }] }, true).edits).toHaveLength(1);
  expect(draftOf({ edits: [{ old: '', new: 'x' }, 7, { old: 1, new: 'x' }] }, true).edits).toEqual([]);
});

test('of a patch, the last operation waits until it is complete', () => {
  const text = '{"patch":[{"op":"add","path":"/a","value":1},{"op":"add","path":"/b"';
  expect(changed({ z: 0 }, part(text).patch)).toEqual({ z: 0, a: 1 });
  expect(changed({ z: 0 }, [{ op: 'remove', path: '/none' }])).toEqual({ z: 0 });
});

test('edits replace one passage, or all, and leave out what the server refuses', () => {
  expect(edited('a b a', [{ old: 'b', new: '$& c', all: false }])).toBe('a $& c a');
  expect(edited('a b a', [{ old: 'a', new: 'x', all: true }])).toBe('x b x');
  expect(edited('a b a', [{ old: 'a', new: 'x', all: false }, { old: 'none', new: 'x', all: false }])).toBe('a b a');
});

test('arguments that are not what they should be make an empty draft', () => {
  for (const value of [undefined, null, 'text', [], { id: 1, name: {}, base_version: 'x', edits: 'x', patch: {} }]) {
    expect(draftOf(value, true)).toMatchObject({ id: null, name: null, kind: null, base: null, edits: [], patch: [] });
  }
});
