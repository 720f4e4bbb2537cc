import { useSyncExternalStore } from 'react';

// The first key closes the server to everybody without one, its maker included. It is kept
// here, in memory alone, until its maker has seen it: the page would ask for it otherwise.
let secret = '';
const listeners = new Set<() => void>();

const leaving = (event: BeforeUnloadEvent) => event.preventDefault(); // the browser asks

export function keepFreshKey(made: string): void {
  secret = made;
  if (made) addEventListener('beforeunload', leaving);
  else removeEventListener('beforeunload', leaving);
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

// useFreshKey is the first key, until its maker has signed in with it; else ''.
export function useFreshKey(): string {
  return useSyncExternalStore(subscribe, () => secret);
}
