import type { Message } from '../api/types';
import type { Transcript } from '../live/transcript';

// Writing is a call of write_file, as people read it: the file, and what changes in it.
export interface Writing {
  path: string;
  text: string;
}

const TOOL = 'write_file';
const READ = 'read_file';

// writingOf reads the arguments of a call; null for every other call.
export function writingOf(tool: string | null, args: Record<string, unknown> | null | undefined): Writing | null {
  return tool === TOOL && typeof args?.path === 'string' && typeof args.text === 'string' ? { path: args.path, text: args.text } : null;
}

// formerText is the text that a file had, as far as this conversation knows: what was
// last written to it before a call. Null if nothing was.
export function formerText(transcript: Transcript, path: string, before: number): string | null {
  const done = new Map(transcript.order.flatMap(({ message }) => (message.role === 'tool_result' && message.content.success ? [[message.tool_call_id, message] as const] : [])));
  for (const { message } of transcript.order.toReversed()) {
    if (message.role !== 'tool_call' || (message.sequence ?? 0) >= before) continue;
    const result = done.get(message.tool_call_id);
    if (!result || message.content.arguments?.path !== path) continue;
    if (message.tool_name === TOOL) return writingOf(TOOL, message.content.arguments)?.text ?? null;
    const read = message.tool_name === READ ? wholeOf(result.content) : null;
    if (read !== null) return read;
  }
  return null;
}

// wholeOf is the text that read_file returned, if it is the whole file.
function wholeOf({ parts }: Message['content']): string | null {
  const answer = parts?.find((part) => part.type === 'object')?.object;
  if (typeof answer !== 'object' || answer === null || !('text' in answer) || typeof answer.text !== 'string') return null;
  return 'from_line' in answer && answer.from_line === 1 && 'next_line' in answer && answer.next_line === null ? answer.text : null;
}
