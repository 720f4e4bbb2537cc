import { expect, test } from 'vitest';
import { diffLines } from './diff';

test('the lines of a diff are both texts', () => {
  const before = ['a', 'b', 'c', 'd'];
  const after = ['a', 'x', 'c', 'd', 'e'];
  const lines = diffLines(before, after);
  expect(lines.filter((line) => line.kind !== 'added').map((line) => line.text)).toEqual(before);
  expect(lines.filter((line) => line.kind !== 'removed').map((line) => line.text)).toEqual(after);
  expect(lines.filter((line) => line.kind === 'same')).toHaveLength(3);
});
