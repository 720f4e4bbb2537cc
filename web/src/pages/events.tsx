import { useState } from 'react';
import type { StreamEvent } from '../api/events';

// EventRows lists events in order of arrival, newest first.
export function EventRows({ events }: { events: StreamEvent[] }) {
  if (events.length === 0) return <p className="text-sm text-faint">New events appear here.</p>;
  return (
    <ol className="space-y-1 text-xs">
      {events.toReversed().map((event) => (
        <EventRow key={event.sequence} event={event} />
      ))}
    </ol>
  );
}

function EventRow({ event }: { event: StreamEvent }) {
  const [open, setOpen] = useState(false);
  return (
    <li>
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)} className="flex w-full gap-2 rounded px-1 py-0.5 text-left hover:bg-hover">
        <span className="w-10 shrink-0 text-right font-mono text-faint">{event.sequence}</span>
        <span className="font-medium">{event.type}</span>
        <span className="ml-auto text-faint">{event.created_at?.slice(11, 23)}</span>
      </button>
      {open && <pre tabIndex={0} aria-label={`Data of ${event.type}`} className="mt-1 max-h-80 overflow-auto rounded bg-code p-2 font-mono whitespace-pre-wrap [overflow-wrap:anywhere]">{JSON.stringify(event.data, null, 2)}</pre>}
    </li>
  );
}
