import type { StreamEvent } from '../api/events';
import type { Call, Message } from '../api/types';
import type { LiveMessage } from '../live/message';

export type Only = 'human' | 'assistant' | 'tool' | 'calls' | 'events';

export const FILTERS: [Only, string][] = [
  ['human', 'Human'],
  ['assistant', 'Assistant'],
  ['tool', 'Tools'],
  ['calls', 'Model calls'],
  ['events', 'Events'],
];

// Entry is one row of the inspector. A running one has no length yet.
export type Entry = { id: string; at: number; took: number | null; running: boolean; turn: string | null } & (
  | { kind: 'message'; live: LiveMessage; message: Message; result: Message | null; calls: string[] } // the tools that an answer calls
  | { kind: 'call'; call: Call }
  | { kind: 'event'; event: StreamEvent }
);

// entriesOf merges everything in a session between two times into one list, in the order
// in which it began.
export function entriesOf(messages: LiveMessage[], calls: Call[], events: StreamEvent[], from = -Infinity, to = Infinity): Entry[] {
  const results = new Map(messages.filter(({ message }) => message.role === 'tool_result').map(({ message }) => [message.tool_call_id, message]));
  const begun = new Set(messages.filter(({ message }) => message.role === 'tool_call').map(({ message }) => message.tool_call_id));
  const called = new Map<string, string[]>(); // by step
  for (const { message } of messages) {
    if (message.role === 'tool_call') called.set(stepOf(message), [...(called.get(stepOf(message)) ?? []), message.tool_name ?? 'a tool']);
  }
  const entries: Entry[] = [];
  for (const live of messages) {
    const { message } = live;
    if (message.role === 'tool_result' && begun.has(message.tool_call_id)) continue; // shown with its call
    const result = message.role === 'tool_call' ? (results.get(message.tool_call_id) ?? null) : null;
    const took = result?.content.execution_time_ms ?? null;
    const at = result && took !== null ? Date.parse(result.created_at) - took : Date.parse(message.created_at);
    const running = message.status === 'streaming' || (message.role === 'tool_call' && message.status === 'completed' && !result);
    const calls = message.role === 'assistant' ? (called.get(stepOf(message)) ?? []) : [];
    entries.push({ kind: 'message', id: message.id, at, took, running, turn: message.turn_id, live, message, result, calls });
  }
  for (const call of calls) {
    const at = Date.parse(call.created_at);
    if (at >= from && at <= to) entries.push({ kind: 'call', id: `call-${call.id}`, at, took: call.total_ms, running: call.outcome === 'open', turn: call.turn_id, call });
  }
  for (const event of events) {
    const at = Date.parse(event.created_at ?? '');
    if (at >= from && at <= to) entries.push({ kind: 'event', id: `event-${event.sequence}`, at, took: null, running: false, turn: 'turn_id' in event.data ? event.data.turn_id : null, event });
  }
  return entries.sort((a, b) => a.at - b.at || order(a) - order(b));
}

// stepOf names the model call that produced a message.
function stepOf(message: Message): string {
  return `${message.turn_id} ${message.step}`;
}

// order breaks ties within a millisecond: the record's order.
function order(entry: Entry): number {
  if (entry.kind === 'message') return entry.message.sequence ?? 1e9;
  if (entry.kind === 'call') return 0.5;
  return entry.event.sequence ?? 0;
}

const NONE = 'none'; // in the address, when every kind is hidden

// chosen reads the shown kinds of rows from the address; the default is everything but
// events, of which there are many.
export function chosen(text: string | undefined): Only[] {
  const names = text?.split(',') ?? [];
  return FILTERS.flatMap(([key]) => ((text ? names.includes(key) : key !== 'events') ? [key] : []));
}

// written is the form of that in the address: undefined for the default.
export function written(only: Only[]): string | undefined {
  const text = FILTERS.flatMap(([key]) => (only.includes(key) ? [key] : [])).join(',') || NONE;
  return text === chosen(undefined).join(',') ? undefined : text;
}

// countsOf counts the rows of each kind.
export function countsOf(entries: Entry[]): Record<Only, number> {
  const counts: Record<Only, number> = { human: 0, assistant: 0, tool: 0, calls: 0, events: 0 };
  for (const entry of entries) counts[sortOf(entry)]++;
  return counts;
}

export function shows(entry: Entry, only: Only[]): boolean {
  return only.includes(sortOf(entry));
}

function sortOf(entry: Entry): Only {
  if (entry.kind === 'call') return 'calls';
  if (entry.kind === 'event') return 'events';
  switch (entry.message.role) {
    case 'user':
    case 'system':
      return 'human';
    case 'assistant':
    case 'summary':
      return 'assistant';
  }
  return 'tool';
}

// Span is the position of a row in its turn, in shares of the turn's length.
export interface Span {
  from: number;
  width: number;
}

// spansOf relates every row to its turn, which lasts from its first row to its last end,
// or to now while it runs.
export function spansOf(entries: Entry[], now: number): Map<string, Span> {
  const turns = new Map<string, { from: number; to: number }>();
  const lengthOf = (entry: Entry) => entry.took ?? (entry.running ? Math.max(0, now - entry.at) : 0);
  for (const entry of entries) {
    const { turn, at } = entry;
    if (!turn) continue;
    const known = turns.get(turn);
    const end = at + lengthOf(entry);
    turns.set(turn, known ? { from: Math.min(known.from, at), to: Math.max(known.to, end) } : { from: at, to: end });
  }
  const spans = new Map<string, Span>();
  for (const entry of entries) {
    const { id, turn, at } = entry;
    const whole = turn ? turns.get(turn) : undefined;
    if (!whole) continue;
    const length = Math.max(1, whole.to - whole.from);
    spans.set(id, { from: (at - whole.from) / length, width: lengthOf(entry) / length });
  }
  return spans;
}
