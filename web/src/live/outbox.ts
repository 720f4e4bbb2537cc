import { useSyncExternalStore } from 'react';
import { passes, Problem, request, sentence } from '../api/http';
import type { ID, Session } from '../api/types';
import { keepDraft, readDraft } from '../chat/draft';
import { feed } from './feed';

// Outbox holds the messages that the server could not be given, for the whole app: they are
// sent when it answers again, whatever page is open by then, and after a reload too.

// Posted is a message that waits in the outbox.
export interface Posted {
  key: string; // idempotency: several tabs may send it, and the server takes it once
  draft: string; // the composer that still shows the text
  session: ID | null; // null: it begins a conversation
  path: string;
  body: unknown;
  text: string;
  refused: string; // why the server does not take it; '' while it waits
  hold: boolean; // its writer stopped the turn that it waited for, and sends it again themselves
}

const STORE = 'parley.outbox';
const RETRY_MS = 5_000; // between attempts, while the connection gives no sign
const MOST = 100;

type Sent = (answer: Session | undefined) => void;

let held: Posted[] = read();
let sending: Promise<void> | null = null;
const listeners = new Set<() => void>();
const waiting = new Map<string, Sent>(); // composers that are open

function read(): Posted[] {
  try {
    const known = JSON.parse(localStorage.getItem(STORE) ?? '[]') as Posted[];
    return Array.isArray(known) ? known : [];
  } catch {
    return [];
  }
}

function write(next: Posted[]): void {
  held = next;
  try {
    if (next.length === 0) localStorage.removeItem(STORE);
    else localStorage.setItem(STORE, JSON.stringify(next));
  } catch {
    // storage is full: this tab still has them
  }
  for (const listener of listeners) listener();
}

export const outbox = {
  subscribe: (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },

  all: (): Posted[] => held,

  // of is the message that a composer left here.
  of: (draft: string): Posted | undefined => held.find((one) => one.draft === draft),

  // put keeps a message until it is sent.
  put(message: Posted): void {
    write([...held.filter((one) => one.key !== message.key && one.draft !== message.draft), message].slice(-MOST));
  },

  // take removes a message: its writer changes it, or gives it up.
  take(key: string): void {
    if (held.some((one) => one.key === key)) write(held.filter((one) => one.key !== key));
  },

  // release sends a message that was held, or refused, now.
  release(key: string): void {
    write(held.map((one) => (one.key === key ? { ...one, hold: false, refused: '' } : one)));
    outbox.flush();
  },

  flush(): void {
    if (held.some((one) => !one.refused && !one.hold)) sending ??= sendAll().finally(() => (sending = null));
  },

  // onSent calls a composer when its message is sent, so that it clears itself.
  onSent(draft: string, sent: Sent): () => void {
    waiting.set(draft, sent);
    return () => {
      if (waiting.get(draft) === sent) waiting.delete(draft);
    };
  },
};

// useOutbox is everything in the outbox.
export function useOutbox(): Posted[] {
  return useSyncExternalStore(outbox.subscribe, outbox.all);
}

// startOutbox sends what is in the outbox whenever the server seems to answer.
export function startOutbox(): void {
  const flush = () => outbox.flush();
  feed.onState(() => feed.linkState() === 'live' && flush());
  setInterval(flush, RETRY_MS);
  addEventListener('storage', (event: StorageEvent) => {
    if (event.key !== STORE) return;
    held = read(); // another tab sent it, or keeps another one
    for (const listener of listeners) listener();
  });
  flush();
}

async function sendAll(): Promise<void> {
  const all = held;
  for (const one of all) {
    if (one.refused || one.hold || !held.some((now) => now.key === one.key)) continue;
    try {
      const answer = await request<Session | undefined>(one.path, { body: one.body, key: one.key });
      if (readDraft(one.draft) === one.text) keepDraft(one.draft, '');
      outbox.take(one.key);
      waiting.get(one.draft)?.(answer);
    } catch (failure) {
      if (passes(failure) || (failure instanceof Problem && failure.status === 401)) return; // all of them wait
      write(held.map((now) => (now.key === one.key ? { ...now, refused: sentence(failure) } : now)));
    }
  }
}
