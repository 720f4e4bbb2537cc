import { Check, Copy } from 'lucide-react';
import { memo, useEffect, useRef, useState } from 'react';
import { copyText } from '../components/clipboard';
import { ahead } from '../live/arrive';
import type { Run } from './highlight';

const highlighter = ahead(() => import('./highlight'));

const LONGEST_HIGHLIGHTED = 50_000; // characters
const PAUSE_MS = 120; // between two colourings of code that grows, at least
const SHARE = 10; // of the time is left to everything else

// prefixOf is the coloured beginning of a text: what has grown since then is plain.
function prefixOf(runs: Run[] | null, text: string): { runs: Run[]; length: number } {
  const length = runs?.reduce((sum, run) => sum + run.text.length, 0) ?? 0;
  if (!runs || length > text.length || !text.startsWith(runs.map((run) => run.text).join(''))) return { runs: [], length: 0 };
  return { runs, length };
}

// CodeBlock shows code with its colours, while it grows too.
export const CodeBlock = memo(function CodeBlock({ text, language, closed }: { text: string; language: string; closed: boolean }) {
  const [runs, setRuns] = useState<Run[] | null>(null);
  const [copied, setCopied] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const pause = useRef(0);
  const latest = useRef({ text, language });
  latest.current = { text, language };
  const coloured = prefixOf(runs, text);
  useEffect(() => {
    if (!language || text.length > LONGEST_HIGHLIGHTED) return;
    // While it streams the end of the text is plain for a moment: colouring all of it takes
    // longer than one delta.
    if (closed) pause.current = 0;
    if (timer.current !== undefined) return;
    const draw = () => {
      timer.current = undefined;
      void highlighter().then(({ highlight }) => {
        const began = performance.now();
        const { text: now, language: in_ } = latest.current;
        setRuns(highlight(now, in_));
        pause.current = Math.max(PAUSE_MS, (performance.now() - began) * SHARE);
      });
    };
    timer.current = setTimeout(draw, pause.current);
  }, [text, language, closed]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <figure className="group/code overflow-hidden rounded-lg border border-line bg-code">
      <figcaption className="flex h-8 items-center justify-between border-b border-line px-3 text-xs text-faint">
        <span className="font-mono">{language || 'text'}</span>
        <button
          type="button"
          className="flex items-center gap-1 rounded px-1.5 py-0.5 hover:bg-hover hover:text-text"
          onClick={() => {
            copyText(text).then(
              () => {
                setCopied(true);
                setTimeout(() => setCopied(false), 1_500);
              },
              () => undefined, // the person can still select the code
            );
          }}
        >
          {copied ? <Check size={13} aria-hidden /> : <Copy size={13} aria-hidden />}
          {copied ? 'Copied' : 'Copy'}
        </button>
      </figcaption>
      <pre className="overflow-x-auto p-3 font-mono text-[13px] leading-relaxed" tabIndex={0} aria-label={`Code${language ? `, ${language}` : ''}`}>
        <code>{coloured.runs.map((run, i) => (run.scope ? <span key={i} className={run.scope}>{run.text}</span> : run.text))}
          {text.slice(coloured.length)}</code>
      </pre>
    </figure>
  );
});
