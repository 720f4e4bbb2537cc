import type { Message } from '../api/types';
import type { LiveMessage } from '../live/message';
import type { Transcript } from '../live/transcript';

// Row is one row of the conversation; consecutive tool calls form a single row.
export type Row =
  | { kind: 'message'; key: string; live: LiveMessage; ends: boolean; question?: Question; later?: Message } // ends: the last of its turn; later: the summary that replaces this one
  | { kind: 'tools'; key: string; calls: Call[] };

// Question is the place of the question that a row answers: its sequence, and the message before it.
export interface Question {
  sequence: number;
  before: string | null;
}

export interface Call {
  call: LiveMessage;
  result: LiveMessage | null;
}

// rowsOf folds the record into rows, in order. It leaves out what only the audit shows.
export function rowsOf(transcript: Transcript): Row[] {
  const results = new Map<string, LiveMessage>();
  for (const live of transcript.order) {
    if (live.message.role === 'tool_result' && live.message.tool_call_id) results.set(live.message.tool_call_id, live);
  }
  const inForce = summaryIn(transcript.order);
  const rows: Row[] = [];
  let before: LiveMessage | null = null;
  let question: Question | undefined;
  for (const live of transcript.order) {
    const { message } = live;
    if (message.role === 'user' && !message.internal) question = before || !transcript.older ? { sequence: message.sequence!, before: before?.message.id ?? null } : undefined;
    before = live;
    if (message.internal || message.role === 'tool_result') continue;
    const last = rows[rows.length - 1];
    if (message.role === 'tool_call') {
      const call = { call: live, result: results.get(message.tool_call_id ?? '') ?? null };
      if (last?.kind === 'tools' && last.calls[0]!.call.message.turn_id === message.turn_id) last.calls.push(call);
      else {
        if (last?.kind === 'message' && last.live.message.turn_id === message.turn_id) last.ends = false;
        rows.push({ kind: 'tools', key: message.id, calls: [call] });
      }
      continue;
    }
    if (message.role === 'assistant' && saysNothing(live)) continue;
    if (last?.kind === 'message' && last.live.message.turn_id === message.turn_id && message.role === 'assistant') last.ends = false;
    rows.push({ kind: 'message', key: message.id, live, ends: true, ...(message.role === 'assistant' && question ? { question } : {}), ...(message.role === 'summary' && inForce && inForce.sequence! > message.sequence! ? { later: inForce } : {}) });
  }
  return rows;
}

// summaryIn finds the summary that the model sees: the last one that nobody set aside.
function summaryIn(order: LiveMessage[]): Message | undefined {
  return order.findLast(({ message }) => message.role === 'summary' && message.covers_through !== null && !message.marks.set_aside)?.message;
}

// saysNothing reports an answer without a row: it only called tools, or has no text yet (the
// activity line shows it).
function saysNothing(live: LiveMessage): boolean {
  if (!live.silent) return false;
  return live.message.status !== 'failed'; // a failed one says why, and an interrupted one what it cost
}

// beginsAt is the sequence of a row's first message.
export function beginsAt(row: Row): number {
  return (row.kind === 'tools' ? row.calls[0]!.call : row.live).message.sequence ?? 0;
}

// rowAt finds the row that shows the message with a sequence: the last row that begins
// at or before it, since calls are shown with their results and some messages have no row.
export function rowAt(rows: Row[], sequence: number): number {
  const result = rows.findIndex((row) => row.kind === 'tools' && row.calls.some((one) => one.result?.message.sequence === sequence));
  return result >= 0 ? result : Math.max(0, rows.findLastIndex((row) => beginsAt(row) <= sequence));
}
