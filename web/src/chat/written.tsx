import type { Message } from '../api/types';
import { cx } from '../components/ui';
import type { Transcript } from '../live/transcript';
import { CodeBlock } from '../markdown/code';
import { diffLines, folded } from '../pages/diff';

// Writing is a call of write_file, as people read it: the file, and what changes in it.
export interface Writing {
  path: string;
  text: string;
}

const TOOL = 'write_file';
const READ = 'read_file';
const MOST_LINES = 2_000; // of a text: comparing longer ones takes too long

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

const languageOf = (path: string) => /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? '';

const SIGNS = { added: '+', removed: '−', same: ' ', skipped: '⋯' } as const;

// Written shows the file that a call writes; where its former text is known, what changes.
export function Written({ writing, former }: { writing: Writing; former: string | null }) {
  const lines = writing.text.split('\n');
  const before = former?.split('\n');
  const changes = before && before.length <= MOST_LINES && lines.length <= MOST_LINES ? folded(diffLines(before, lines)) : null;
  return (
    <div data-written={writing.path} className="space-y-1">
      <p className="text-xs text-faint">
        <span className="font-mono">{writing.path}</span>
        {changes ? ', compared with its text earlier in this conversation' : ', its whole text'}
      </p>
      {changes ? (
        <pre tabIndex={0} aria-label={`What changes in ${writing.path}`} className="max-h-96 overflow-auto rounded-lg border border-line bg-code py-2 font-mono text-xs leading-relaxed">
          {changes.map((line, i) => (
            <span key={i} className={cx('block px-2.5 whitespace-pre-wrap', line.kind === 'added' && 'bg-good-soft text-good', line.kind === 'removed' && 'bg-bad-soft text-bad', line.kind === 'skipped' && 'text-faint')}>
              {SIGNS[line.kind]} {line.text}
            </span>
          ))}
        </pre>
      ) : (
        <div className="max-h-96 overflow-auto">
          <CodeBlock text={writing.text} language={languageOf(writing.path)} closed />
        </div>
      )}
    </div>
  );
}
