import { Offline } from '../api/http';
import type { StreamEvent } from '../api/events';
import type { ID } from '../api/types';

// readEvents reads the durable events of a session after one and up to another. The
// server sends them as an endless stream: it is closed at the last event wanted.
export async function readEvents(session: ID, after: number, through: number, signal: AbortSignal): Promise<StreamEvent[]> {
  const leave = new AbortController();
  const response = await fetch(`/v1/sessions/${session}/events?after=${after}`, { headers: { Accept: 'text/event-stream' }, signal: AbortSignal.any([signal, leave.signal]) });
  if (!response.ok || !response.body) throw new Offline();
  const events: StreamEvent[] = [];
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return events;
      text += value;
      const frames = text.split('\n\n');
      text = frames.pop()!;
      for (const frame of frames) {
        const event = eventOf(frame);
        if (!event?.sequence) continue; // a delta, or a comment
        if (event.sequence <= through) events.push(event);
        if (event.sequence >= through) return events;
      }
    }
  } finally {
    leave.abort();
  }
}

// eventOf reads one frame of a stream; null if it carries no event.
export function eventOf(frame: string): StreamEvent | null {
  const data = frame.split('\n').find((line) => line.startsWith('data:'));
  return data ? (JSON.parse(data.slice('data:'.length)) as StreamEvent) : null;
}
