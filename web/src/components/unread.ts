import { useEffect, useSyncExternalStore } from 'react';
import type { Session } from '../api/types';

const KEY = 'parley.seen';
const MOST = 500; // conversations remembered; others count as seen up to the newest forgotten one

// Seen is what this browser has shown: for each conversation the time of its last
// activity then, by the server's clock. Conversations never opened here count from since.
interface Seen {
  since: number;
  at: Record<string, number>;
}

const listeners = new Set<() => void>();
let known: Seen | null = null; // as last read; a change by another tab invalidates it

function read(): Seen {
  const text = localStorage.getItem(KEY);
  try {
    const kept = JSON.parse(text ?? 'null') as Partial<Seen> | null;
    if (typeof kept?.since === 'number' && typeof kept.at === 'object' && kept.at) return (known = { since: kept.since, at: kept.at });
  } catch {
    // edited by hand: starts over
  }
  return keep({ since: Date.now(), at: {} });
}

function keep(seen: Seen): Seen {
  try {
    localStorage.setItem(KEY, JSON.stringify(seen));
  } catch {
    // storage is full: it applies to this tab
  }
  return (known = seen);
}

// saw notes that a conversation was shown in its current state.
export function saw(session: Session): void {
  const at = Date.parse(session.updated_at);
  const seen = read();
  if ((seen.at[session.id] ?? 0) >= at) return;
  const entries = Object.entries({ ...seen.at, [session.id]: at }).sort((a, b) => b[1] - a[1]);
  const forgotten = entries[MOST]?.[1] ?? 0;
  keep({ since: Math.max(seen.since, forgotten), at: Object.fromEntries(entries.slice(0, MOST)) });
  for (const listener of listeners) listener();
}

// unread reports whether something happened since this browser showed a conversation.
export function unread(session: Session, seen: Seen): boolean {
  return Date.parse(session.updated_at) > (seen.at[session.id] ?? seen.since);
}

// useSeen follows what was seen, in this and other tabs.
export function useSeen(): Seen {
  return useSyncExternalStore(subscribe, () => known ?? read());
}

function onStorage(event: StorageEvent): void {
  if (event.key !== KEY && event.key !== null) return;
  known = null;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) {
    known = null; // nobody listened
    addEventListener('storage', onStorage);
  }
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) removeEventListener('storage', onStorage);
  };
}

// useSaw notes the open conversation whenever it changes while this tab is visible.
export function useSaw(session: Session | undefined): void {
  useEffect(() => {
    if (!session) return;
    const look = () => {
      if (document.visibilityState === 'visible') saw(session);
    };
    look();
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  }, [session]);
}
