import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Hub, type Source } from './hub';
import type { ToTab } from './protocol';

class Fake implements Source {
  static opened: Fake[] = [];
  onopen: ((event: Event) => void) | null = null;
  onerror: ((event: Event) => void) | null = null;
  closed = false;
  private listeners = new Map<string, (event: MessageEvent) => void>();
  constructor(readonly address: string) {
    Fake.opened.push(this);
  }
  addEventListener(type: string, listener: (event: MessageEvent) => void): void {
    this.listeners.set(type, listener);
  }
  close(): void {
    this.closed = true;
  }
  say(type: string, session: string | null, sequence?: number): void {
    this.listeners.get(type)!({ data: JSON.stringify({ session_id: session, sequence, type, data: {} }) } as MessageEvent);
  }
}

const last = () => Fake.opened[Fake.opened.length - 1]!;
const sequences = (told: ToTab[]) => told.flatMap((one) => (one.kind === 'event' && one.event.sequence ? [one.event.sequence] : []));

let hub: Hub;
beforeEach(() => {
  vi.useFakeTimers();
  Fake.opened = [];
  hub = new Hub((address) => new Fake(address));
});
afterEach(() => vi.useRealTimers());

function tab(name: string, sessions: Record<string, number>): ToTab[] {
  const told: ToTab[] = [];
  hub.join(name, (message) => told.push(message));
  hub.hear({ kind: 'watch', tab: name, sessions });
  vi.advanceTimersByTime(100);
  return told;
}

test('twelve tabs share one connection', () => {
  for (let i = 0; i < 12; i++) tab(`tab${i}`, { [`s${i}`]: 0 });
  expect(Fake.opened.filter((source) => !source.closed)).toHaveLength(1);
  expect(decodeURIComponent(last().address).match(/session=/g)).toHaveLength(12);
});

test('a broken connection is reopened after the last event', () => {
  const told = tab('a', { s: 4 });
  last().say('message.created', 's', 5);
  last().onerror!(new Event('error'));
  expect(told.at(-1)).toEqual({ kind: 'state', state: 'reconnecting' });
  vi.advanceTimersByTime(300);
  expect(decodeURIComponent(last().address)).toContain('session=s:5');
  last().say('message.created', 's', 6);
  expect(sequences(told)).toEqual([5, 6]);
});

test('a later tab gets the events that it missed, and nobody else gets them again', () => {
  const first = tab('a', { s: 0 });
  for (const n of [1, 2, 3]) last().say('message.created', 's', n);
  const second = tab('b', { s: 1 });
  expect(decodeURIComponent(last().address)).toContain('session=s:1');
  for (const n of [2, 3, 4]) last().say('message.created', 's', n);
  expect(sequences(first)).toEqual([1, 2, 3, 4]);
  expect(sequences(second)).toEqual([2, 3, 4]);
});

test('a tab gets no events of sessions that it does not watch', () => {
  tab('a', { s: 0 });
  const other = tab('b', { t: 0 });
  last().say('message.created', 's', 1);
  expect(sequences(other)).toEqual([]);
});

test('the connection ends with the last tab', () => {
  tab('a', { s: 0 });
  hub.hear({ kind: 'leave', tab: 'a' });
  vi.advanceTimersByTime(100);
  expect(Fake.opened.every((source) => source.closed)).toBe(true);
});

test('signing in or out opens a new connection, and the other tabs are notified', () => {
  const one = tab('one', { a: 3 });
  const other = tab('other', { b: 5 });
  const before = last();
  hub.hear({ kind: 'renew', tab: 'one' });
  expect(before.closed).toBe(true);
  before.say('session.updated', 'b');
  expect(other.filter((told) => told.kind === 'event')).toEqual([]);
  expect(other.at(-1)).toEqual({ kind: 'renewed' });
  expect(one.some((told) => told.kind === 'renewed')).toBe(false);
  vi.advanceTimersByTime(100);
  expect(last()).not.toBe(before);
  expect(last().closed).toBe(false);
});
