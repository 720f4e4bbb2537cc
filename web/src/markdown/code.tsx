import { Check, Copy } from 'lucide-react';
import { memo, useEffect, useState } from 'react';
import { copyText } from '../components/clipboard';
import { ahead } from '../live/arrive';
import type { Run } from './highlight';

const highlighter = ahead(() => import('./highlight'));

const LONGEST_HIGHLIGHTED = 50_000; // characters

// CodeBlock shows code, highlighted once it is complete.
export const CodeBlock = memo(function CodeBlock({ text, language, closed }: { text: string; language: string; closed: boolean }) {
  const [runs, setRuns] = useState<Run[] | null>(null);
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!closed || !language || text.length > LONGEST_HIGHLIGHTED) return;
    let here = true;
    void highlighter().then(({ highlight }) => here && setRuns(highlight(text, language)));
    return () => {
      here = false;
    };
  }, [text, language, closed]);
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
        <code>{runs ? runs.map((run, i) => (run.scope ? <span key={i} className={run.scope}>{run.text}</span> : run.text)) : text}</code>
      </pre>
    </figure>
  );
});
