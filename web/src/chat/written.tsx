import { cx } from '../components/ui';
import { CodeBlock } from '../markdown/code';
import { diffLines, folded } from '../pages/diff';
import type { Writing } from './writing';

const MOST_LINES = 2_000; // of a text: comparing longer ones takes too long

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
