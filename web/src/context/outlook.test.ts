import { expect, test } from 'vitest';
import type { LeftOut, Outlook } from '../api/types';
import { countsOf, filledOf, leftOf, leftOutAt, saysOf } from './outlook';

const outlook = (fields: Partial<Outlook>): Outlook => ({ fate: 'covered', share: 0.38, tokens: 800, tokens_most: 2000, messages: 6, messages_most: null, assumed: false, leaving: { count: 0, tokens: 0, first: [] }, ...fields });

test('a meter says what is left until a window is shortened, and how', () => {
  expect(saysOf(outlook({}))).toBe('62 % until older messages are summed up');
  expect(saysOf(outlook({ share: 0.999 }))).toBe('1 % until older messages are summed up');
  expect(leftOf(outlook({ share: 1 }))).toBe(0);
  expect(saysOf(outlook({ share: 1 }))).toBe('A summary of older messages is due');
  expect(saysOf(outlook({ fate: 'dropped', share: 0.5 }))).toBe('50 % until the oldest messages are dropped');
  expect(filledOf(outlook({}))).toBe('about 800 of 2K tokens');
  expect(filledOf(outlook({ messages_most: 50 }))).toBe('6 of 50 messages, about 800 of 2K tokens');
});

const run = (fate: LeftOut['fate'], from: number, to: number): LeftOut => ({ fate, from, to, count: to - from + 1, reason: fate, tokens: null });

test('every message of a record is in exactly one count, and found in its run', () => {
  const left = [run('covered', 2, 9), run('rule', 10, 10), run('dropped', 14, 15)];
  expect(countsOf(20, left, 2)).toEqual({ shown: 7, stubbed: 2, covered: 8, rule: 1, dropped: 2 });
  expect([1, 2, 9, 10, 11, 15, 16].map((sequence) => leftOutAt(left, sequence)?.fate)).toEqual([undefined, 'covered', 'covered', 'rule', undefined, 'dropped', undefined]);
  expect(leftOutAt([], 1)).toBeUndefined();
});
