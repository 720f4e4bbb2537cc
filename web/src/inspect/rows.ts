import type { Call, Message, StreamEvent } from '../api/types';

export type Only = 'human' | 'assistant' | 'tool' | 'calls' | 'events';

export const FILTERS: [Only, string][] = [
  ['human', 'Human'],
  ['assistant', 'Assistant'],
  ['tool', 'Tools'],
  ['calls', 'Model calls'],
  ['events', 'Events'],
];

// Entry is one row of the inspector.
export type Entry =
  | { kind: 'message'; id: string; at: number; took: number | null; turn: string | null; message: Message; result: Message | null }
  | { kind: 'call'; id: string; at: number; took: number | null; turn: string | null; call: Call }
  | { kind: 'event'; id: string; at: number; took: null; turn: string | null; event: StreamEvent };

// entriesOf puts what a session is made of into one list, in the order in which it began.
export function entriesOf(messages: Message[], calls: Call[], events: StreamEvent[]): Entry[] {
  const results = new Map(messages.filter((one) => one.role === 'tool_result').map((one) => [one.tool_call_id, one]));
  const entries: Entry[] = [];
  for (const message of messages) {
    if (message.role === 'tool_result' && message.tool_call_id && results.has(message.tool_call_id)) continue; // stands with its call
    const result = message.role === 'tool_call' ? (results.get(message.tool_call_id) ?? null) : null;
    const took = result?.content.execution_time_ms ?? null;
    const at = result && took !== null ? Date.parse(result.created_at) - took : Date.parse(message.created_at);
    entries.push({ kind: 'message', id: message.id, at, took, turn: message.turn_id, message, result });
  }
  for (const call of calls) entries.push({ kind: 'call', id: call.id, at: Date.parse(call.created_at), took: call.total_ms, turn: call.turn_id, call });
  for (const event of events) {
    entries.push({ kind: 'event', id: `event-${event.sequence}`, at: Date.parse(event.created_at ?? ''), took: null, turn: event.data?.turn_id ?? null, event });
  }
  return entries.sort((a, b) => a.at - b.at || order(a) - order(b));
}

// order is among what began in the same millisecond: the record's.
function order(entry: Entry): number {
  if (entry.kind === 'message') return entry.message.sequence ?? 1e9;
  if (entry.kind === 'call') return 0.5;
  return entry.event.sequence ?? 0;
}

export function shows(entry: Entry, only: Only | undefined): boolean {
  switch (only) {
    case 'human':
      return entry.kind === 'message' && entry.message.role === 'user';
    case 'assistant':
      return entry.kind === 'message' && (entry.message.role === 'assistant' || entry.message.role === 'summary');
    case 'tool':
      return entry.kind === 'message' && (entry.message.role === 'tool_call' || entry.message.role === 'tool_result');
    case 'calls':
      return entry.kind === 'call';
    case 'events':
      return entry.kind === 'event';
  }
  return entry.kind !== 'event';
}

// Span is where a row stands in its turn, in shares of the turn's length.
export interface Span {
  from: number;
  width: number;
}

// spansOf measures every row against its turn: from its first row to its last end.
export function spansOf(entries: Entry[]): Map<string, Span> {
  const turns = new Map<string, { from: number; to: number }>();
  for (const { turn, at, took } of entries) {
    if (!turn) continue;
    const known = turns.get(turn);
    const end = at + (took ?? 0);
    turns.set(turn, known ? { from: Math.min(known.from, at), to: Math.max(known.to, end) } : { from: at, to: end });
  }
  const spans = new Map<string, Span>();
  for (const { id, turn, at, took } of entries) {
    const whole = turn ? turns.get(turn) : undefined;
    if (!whole) continue;
    const length = Math.max(1, whole.to - whole.from);
    spans.set(id, { from: (at - whole.from) / length, width: (took ?? 0) / length });
  }
  return spans;
}
