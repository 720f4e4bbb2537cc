import type { LiveMessage } from '../live/message';
import type { Transcript } from '../live/transcript';

// Row is one line of the conversation as it is read: consecutive tool calls are one.
export type Row =
  | { kind: 'message'; key: string; live: LiveMessage; ends: boolean } // ends: the last of its turn
  | { kind: 'tools'; key: string; calls: Call[] };

export interface Call {
  call: LiveMessage;
  result: LiveMessage | null;
}

// rowsOf folds the record into rows, in its order. What only the audit shows is left out.
export function rowsOf(transcript: Transcript): Row[] {
  const results = new Map<string, LiveMessage>();
  for (const live of transcript.order) {
    if (live.message.role === 'tool_result' && live.message.tool_call_id) results.set(live.message.tool_call_id, live);
  }
  const rows: Row[] = [];
  for (const live of transcript.order) {
    const { message } = live;
    if (message.internal || message.role === 'tool_result') continue;
    const last = rows[rows.length - 1];
    if (message.role === 'tool_call') {
      const call = { call: live, result: results.get(message.tool_call_id ?? '') ?? null };
      if (last?.kind === 'tools' && last.calls[0]!.call.message.turn_id === message.turn_id) last.calls.push(call);
      else rows.push({ kind: 'tools', key: message.id, calls: [call] });
      continue;
    }
    if (message.role === 'assistant' && saysNothing(live)) continue;
    if (last?.kind === 'message' && last.live.message.turn_id === message.turn_id && message.role === 'assistant') last.ends = false;
    rows.push({ kind: 'message', key: message.id, live, ends: true });
  }
  return rows;
}

// saysNothing reports an answer without a row: it only called tools, has not begun
// to speak (the line of activity stands for it), or was interrupted before it did.
function saysNothing(live: LiveMessage): boolean {
  if (!live.silent) return false;
  return live.message.status !== 'failed' || live.message.error?.class === 'interrupted';
}
