import type { Reading } from '../live/transcript';

// Where a person read in a conversation when they left it: Back and Forward lead there again.

const BACK_MS = 1_000; // in which a page opens after Back
const MOST = 100; // conversations

const places = new Map<string, Reading>();
let wentBack = -Infinity;

addEventListener('popstate', () => (wentBack = performance.now()));

// leave remembers a place; null is the end, which needs no memory.
export function leave(session: string, reading: Reading | null): void {
  places.delete(session);
  if (reading) places.set(session, reading);
  const oldest = places.keys().next().value;
  if (places.size > MOST && oldest !== undefined) places.delete(oldest);
}

// leftAt is the place that Back leads to.
export function leftAt(session: string): Reading | undefined {
  return performance.now() - wentBack < BACK_MS ? places.get(session) : undefined;
}
