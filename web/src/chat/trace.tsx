import { useCallback, useEffect, useRef, useState } from 'react';
import { sentence } from '../api/http';
import type { StreamEvent } from '../api/events';
import { Button, Failed } from '../components/ui';
import { readEvents } from '../inspect/events';
import type { Transcript } from '../live/transcript';
import { EventRows } from '../pages/events';

const PAGE = 200; // events read at once

// Trace shows the events of a conversation, newest first: those that arrive, and all earlier ones.
export function Trace({ transcript }: { transcript: Transcript }) {
  const [earlier, setEarlier] = useState<StreamEvent[]>([]);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  const ended = useRef(new AbortController());
  const known = new Set(earlier.map((event) => event.sequence));
  const events = [...earlier, ...transcript.events.filter((event) => !known.has(event.sequence))].sort((a, b) => (a.sequence ?? 0) - (b.sequence ?? 0));
  const first = events[0]?.sequence ?? (transcript.session?.last_event_sequence ?? 0) + 1;
  const load = useCallback(
    async (before: number) => {
      const { signal } = ended.current;
      setBusy(true);
      setError('');
      try {
        const read = await readEvents(transcript.id, Math.max(0, before - 1 - PAGE), before - 1, signal);
        setEarlier((was) => [...read, ...was]);
      } catch (failure) {
        if (!signal.aborted) setError(sentence(failure));
      }
      if (!signal.aborted) setBusy(false);
    },
    [transcript.id],
  );
  useEffect(() => {
    ended.current = new AbortController();
    setEarlier([]);
    const now = transcript.events[0]?.sequence ?? (transcript.session?.last_event_sequence ?? 0) + 1;
    if (now > 1) void load(now);
    return () => ended.current.abort();
  }, [transcript, load]);
  return (
    <>
      <EventRows events={events} />
      {error && <Failed error={new Error(error)} onRetry={() => void load(first)} />}
      {first > 1 && !error && (
        <Button look="quiet" disabled={busy} onClick={() => void load(first)} className="mt-3 w-full">
          {busy ? 'Loading…' : `Show earlier events, ${(first - 1).toLocaleString()} more`}
        </Button>
      )}
    </>
  );
}
