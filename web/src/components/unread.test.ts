// @vitest-environment happy-dom
import { beforeEach, expect, test } from 'vitest';
import type { Session } from '../api/types';
import { saw, unread } from './unread';

const seen = () => JSON.parse(localStorage.getItem('parley.seen')!) as { since: number; at: Record<string, number> };
const session = (id: string, at: number) => ({ id, updated_at: new Date(at).toISOString() }) as Session;

beforeEach(() => localStorage.setItem('parley.seen', JSON.stringify({ since: 1_000, at: {} })));

test('events before this browser first looked are not news, later ones are', () => {
  expect(unread(session('a', 1_000), seen())).toBe(false);
  expect(unread(session('a', 1_001), seen())).toBe(true);
});

test('a seen conversation is not news until something happens, and an older sight changes nothing', () => {
  saw(session('a', 2_000));
  saw(session('a', 1_500));
  expect(unread(session('a', 2_000), seen())).toBe(false);
  expect(unread(session('a', 2_001), seen())).toBe(true);
  expect(unread(session('b', 1_600), seen())).toBe(true);
});

test('the memory is bounded, and forgotten conversations do not become news', () => {
  const at = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`s${n}`, 2_000 + n]));
  localStorage.setItem('parley.seen', JSON.stringify({ since: 1_000, at }));
  for (let n = 500; n < 520; n++) saw(session(`s${n}`, 2_000 + n));
  expect(Object.keys(seen().at)).toHaveLength(500);
  expect(unread(session('s0', 2_000), seen())).toBe(false);
  expect(unread(session('s19', 2_019), seen())).toBe(false);
  expect(unread(session('s519', 2_520), seen())).toBe(true);
});

test('a damaged entry starts over', () => {
  localStorage.setItem('parley.seen', '{"since":"x"');
  saw(session('a', 5));
  expect(seen().at).toEqual({ a: 5 });
});
