import { useEffect } from 'react';
import { request } from '../api/http';
import type { Message, Page } from '../api/types';
import { typing } from '../components/shortcuts';
import type { Target, Transcript } from '../live/transcript';

const MOVES = ['wheel', 'touchmove', 'pointerdown'] as const; // the events with which a person moves away

// useJumps goes to the previous or next question, with [ and ].
export function useJumps(transcript: Transcript): void {
  useEffect(() => {
    let left: Target | null = null; // the target that the person has moved away from
    const moved = () => (left = transcript.target);
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
      if (event.key !== '[' && event.key !== ']') {
        if (['PageUp', 'PageDown', 'ArrowUp', 'ArrowDown', 'Home', 'End'].includes(event.key)) moved();
        return;
      }
      event.preventDefault();
      void jump(transcript, event.key === ']' ? 1 : -1, left);
    };
    for (const move of MOVES) addEventListener(move, moved, { passive: true });
    addEventListener('keydown', onKey);
    return () => {
      for (const move of MOVES) removeEventListener(move, moved);
      removeEventListener('keydown', onKey);
    };
  }, [transcript]);
}

// jump counts from its last target until the person moves, then from what is in view.
async function jump(transcript: Transcript, by: 1 | -1, left: Target | null): Promise<void> {
  const last = transcript.order.at(-1)?.message.sequence;
  if (!last) return;
  const { target } = transcript;
  const here = target?.kind === 'message' && target !== left ? target.sequence : (transcript.reading?.sequence ?? last + 1);
  const asked = transcript.order.map((live) => live.message).filter((message) => message.role === 'user' && !message.internal);
  const shown = by < 0 ? asked.findLast((message) => message.sequence! < here) : asked.find((message) => message.sequence! > here);
  const next = shown ?? ((by < 0 ? transcript.older : transcript.newer) ? await beyond(transcript.id, here + by, by) : undefined);
  if (next) await transcript.goTo(next.id);
  else if (by > 0) await transcript.goToEnd();
}

// beyond finds a question outside the messages that the page has loaded.
async function beyond(session: string, from: number, by: 1 | -1): Promise<Message | undefined> {
  try {
    const page = await request<Page<Message>>(`/v1/sessions/${session}/messages`, { query: { role: 'user', internal: false, order: by < 0 ? 'desc' : 'asc', limit: 1, from_sequence: from } });
    return page.data.find((message) => message.sequence !== null);
  } catch {
    return undefined; // offline: the banner says so
  }
}
