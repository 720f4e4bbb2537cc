import { expect, test } from 'vitest';
import { diffLines, folded } from './diff';

test('the lines of a diff are both texts', () => {
  const before = ['a', 'b', 'c', 'd'];
  const after = ['a', 'x', 'c', 'd', 'e'];
  const lines = diffLines(before, after);
  expect(lines.filter((line) => line.kind !== 'added').map((line) => line.text)).toEqual(before);
  expect(lines.filter((line) => line.kind !== 'removed').map((line) => line.text)).toEqual(after);
  expect(lines.filter((line) => line.kind === 'same')).toHaveLength(3);
});


test('lines that are alike at both ends cost nothing, and all of them are there', () => {
  const alike = Array.from({ length: 20_000 }, (_, i) => `line ${i}`);
  const lines = diffLines([...alike, 'a', 'z'], [...alike, 'b', 'z']);
  expect(lines.slice(-3)).toEqual([
    { kind: 'removed', text: 'a' },
    { kind: 'added', text: 'b' },
    { kind: 'same', text: 'z' },
  ]);
  expect(lines).toHaveLength(20_003);
  expect(diffLines(['a', 'a'], ['a'])).toHaveLength(2);
});

test('lines far from any change are folded', () => {
  const before = Array.from({ length: 30 }, (_, i) => `${i}`);
  const after = before.with(15, 'x');
  expect(folded(diffLines(before, after)).map((line) => line.text)).toEqual(['12 unchanged lines', '12', '13', '14', '15', 'x', '16', '17', '18', '11 unchanged lines']);
  expect(folded(diffLines(['a'], ['a']))).toEqual([{ kind: 'skipped', text: '1 unchanged line' }]);
});
