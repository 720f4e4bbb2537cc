import { expect, test } from 'vitest';
import type { Session } from '../api/types';
import { versionsAt } from './versions';

let made = 0;
const session = (id: string, parent: string | null = null, through: number | null = null, at: string | null = null) =>
  ({ id, parent_session_id: parent, forked_through: through, parent_message_id: at, created_at: new Date(1e12 + made++ * 1e3).toISOString() }) as Session;

function record(...all: Session[]) {
  return { session: (id: string) => Promise.resolve(all.find((one) => one.id === id) ?? null), forks: (id: string) => Promise.resolve(all.filter((one) => one.parent_session_id === id)) };
}

// The question is message 3, after message m2; s was asked first.
const place = (id: string) => ({ session: id, question: 3, before: 'm2' });

test('answers to one question are versions, wherever one stands', async () => {
  const all = record(session('s'), session('again', 's', 2, 'm3'), session('third', 'again', 2, 'again-m3'), session('goes-on', 's', 2, 'm2'), session('later', 's', 4, 'm4'));
  expect(await versionsAt(place('s'), all)).toEqual({ all: ['s', 'again', 'third'], here: 0 });
  expect(await versionsAt(place('again'), all)).toEqual({ all: ['s', 'again', 'third'], here: 1 });
  expect(await versionsAt(place('third'), all)).toEqual({ all: ['s', 'again', 'third'], here: 2 });
});

test('a fork that goes on from the message before is no version', async () => {
  const all = record(session('s'), session('goes-on', 's', 2, 'm2'));
  expect(await versionsAt(place('s'), all)).toEqual({ all: ['s'], here: 0 });
  expect(await versionsAt(place('goes-on'), all)).toEqual({ all: ['goes-on'], here: 0 });
});

test('a fork further down shows the versions of what it shares, itself as the first', async () => {
  const all = record(session('s'), session('again', 's', 2, 'm3'), session('later', 's', 6, 'm6'));
  expect(await versionsAt(place('later'), all)).toEqual({ all: ['later', 'again'], here: 0 });
});

test('a conversation whose origin is gone is the first that is known', async () => {
  expect(await versionsAt(place('again'), record(session('again', 's', 2, 'm3')))).toEqual({ all: ['again'], here: 0 });
});
