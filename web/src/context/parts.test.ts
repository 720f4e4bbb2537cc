import { expect, test } from 'vitest';
import type { Part } from '../api/types';
import { bytesOf, groupsOf, segmentsOf } from './parts';

const part = (fields: Partial<Part>): Part => ({ kind: 'message', name: null, sequence: 1, message_id: null, pinned: false, stubbed: false, role: 'user', reason: '', bytes: 1, tokens: 1, span: null, cached_tokens: null, ...fields });

test('thousands of parts make few segments, and none is lost', () => {
  const parts = [part({ kind: 'tool', tokens: 5 }), part({ kind: 'system', tokens: 5 }), ...Array.from({ length: 5_000 }, (_, i) => part({ tokens: i % 7 }))];
  const segments = segmentsOf(parts);
  expect(segments.length).toBeLessThan(330);
  expect(segments.reduce((sum, one) => sum + one.tokens, 0)).toBe(parts.reduce((sum, one) => sum + one.tokens, 0));
  expect(segments.slice(0, 2).map((one) => one.kind)).toEqual(['tool', 'system']);
  segments.forEach((one, i) => expect(one.from).toBeGreaterThan(segments[i - 1]?.to ?? -1));
});

test('a large part stands alone', () => {
  const segments = segmentsOf([part({ tokens: 1 }), part({ tokens: 1000 }), part({ tokens: 1 })]);
  expect(segments.some((one) => one.tokens >= 1000 && one.to - one.from <= 1)).toBe(true);
});

test('groups follow the providers’ order and know their parts', () => {
  const groups = groupsOf([part({ tokens: 3, cached_tokens: 2 }), part({ kind: 'system' }), part({ tokens: 4 })]);
  expect(groups.map((one) => [one.kind, one.tokens, one.cached, one.parts])).toEqual([
    ['system', 1, 0, [1]],
    ['message', 7, 2, [0, 2]],
  ]);
});

test('bytes are counted as bytes', () => {
  const request = '{"a":"ünï","b":1}';
  expect(bytesOf(request, part({ span: { offset: 5, length: 7 } }))).toBe('"ünï"');
});
