import { useSyncExternalStore } from 'react';
import type { ID } from '../api/types';

// Wish is a summary that somebody wants: of what is older, or the same as one that is replaced.
export interface Wish {
  session: ID;
  instructions: string;
  replaces?: { id: ID; from: number; through: number }; // a summary that is made again
}

let wish: Wish | null = null;
const listeners = new Set<() => void>();

function become(next: Wish | null): void {
  wish = next;
  for (const listener of listeners) listener();
}

// summarise asks for a summary: the conversation's page shows what it would cover and cost, and begins it on request.
export function summarise(session: ID, wanted: Partial<Omit<Wish, 'session'>> = {}): void {
  become({ session, instructions: '', ...wanted });
}

export function noSummary(): void {
  become(null);
}

// useWish is the summary wanted of a conversation.
export function useWish(session: ID): Wish | null {
  const wanted = useSyncExternalStore(listen, () => wish);
  return wanted?.session === session ? wanted : null;
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

// COMMAND is what asks for a summary in the composer, with instructions or none.
const COMMAND = /^\/compact(?:\s+([\s\S]*))?$/;

// askedFor returns the instructions of a command for a summary; undefined for any other text.
export function askedFor(text: string): string | undefined {
  const found = COMMAND.exec(text.trim());
  return found ? (found[1] ?? '') : undefined;
}
