import { type ComponentType, createElement, lazy, type ReactNode, useState } from 'react';
import { feed } from './feed';

// The page's code comes in parts. All of them are fetched ahead, soon after the page has
// started, so that a server that is away costs no part; one that could not be fetched is
// asked for again, and never reloads the page into the browser's error page.

const AHEAD_MS = 1_500; // the first page comes first
const AGAIN_MS = 2_000;

const parts = new Set<() => Promise<unknown>>();

// arriving loads a part, however often it takes.
export async function arriving<T>(load: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await load();
    } catch {
      await back();
    }
  }
}

// back waits for a moment, or for a connection if that comes first.
function back(): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      unheard();
      resolve();
    };
    const timer = setTimeout(done, AGAIN_MS);
    const unheard = feed.onState(() => feed.linkState() === 'live' && done());
  });
}

// part makes a component whose code is fetched ahead.
export function part<Name extends string, Props extends object>(load: () => Promise<Record<Name, ComponentType<Props>>>, name: Name): ((props: Props) => ReactNode) & { preload: () => Promise<void> } {
  let here: ComponentType<Props> | undefined; // once it is, it is drawn at once
  const read = () => load().then((module) => (here = module[name]));
  parts.add(read);
  const Lazy = lazy(() => arriving(read).then((component) => ({ default: component })));
  const Part = (props: Props) => createElement(useState(() => ({ is: here ?? (Lazy as unknown as ComponentType<Props>) }))[0].is, props); // the same one as long as it is shown: another would begin anew
  return Object.assign(Part, { preload: () => read().then(() => undefined, () => undefined) });
}

// ahead names code without a component.
export function ahead<T>(load: () => Promise<T>): () => Promise<T> {
  parts.add(load);
  return () => arriving(load);
}

// fetchAhead fetches all parts, those of parts too, one after the other.
export function fetchAhead(): void {
  setTimeout(() => void (async () => {
    for (const load of parts) await arriving(load); // a part may name more of them
  })(), AHEAD_MS);
}
