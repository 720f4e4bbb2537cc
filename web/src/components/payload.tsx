import { Check, Copy } from 'lucide-react';
import { useEffect, useState } from 'react';
import { copyText } from './clipboard';
import { JsonTree, jsonOf } from './json';
import { cx } from './ui';

const LINES = 12; // a longer text begins folded
const CHARACTERS = 1_000;
const BAD_LINES = 3; // of a failure: what it says first matters most
const SAID_MS = 1_500;

interface Props {
  name: string;
  text: string;
  bad?: boolean;
  sought?: boolean; // unfolded: what is sought may be anywhere in it
  tree?: boolean; // JSON as a tree; without it the text stays as it is, byte by byte
}

// Payload is what went in or came out of a call. A long one begins folded.
export function Payload({ name, text, bad, sought, tree }: Props) {
  const [chosen, setChosen] = useState<boolean | null>(null);
  const [asText, setAsText] = useState(false);
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (sought) setChosen(true);
  }, [sought]);
  if (text === '' || text === '{}') return null;
  const value = tree ? jsonOf(text) : null;
  const lines = text.split('\n');
  const most = bad ? BAD_LINES : LINES;
  const long = lines.length > most + 1 || text.length > CHARACTERS;
  const whole = chosen ?? !long;
  const copy = () =>
    void copyText(text).then(
      () => {
        setCopied(true);
        setTimeout(() => setCopied(false), SAID_MS);
      },
      () => setChosen(true), // the person can still select it
    );
  return (
    <div data-payload={name}>
      <div className="mb-1 flex items-center gap-2 text-xs text-faint">
        <span className="min-w-0 flex-1 truncate">{name}</span>
        {value && (
          <button type="button" aria-pressed={asText} className="rounded px-1 hover:bg-hover hover:text-text" onClick={() => setAsText(!asText)}>
            As text
          </button>
        )}
        <button type="button" className="flex items-center gap-1 rounded px-1 hover:bg-hover hover:text-text" onClick={copy}>
          {copied ? <Check size={12} aria-hidden /> : <Copy size={12} aria-hidden />} {copied ? 'Copied' : 'Copy'}
          <span className="sr-only">: {name}</span>
        </button>
      </div>
      {value && !asText ? (
        <div tabIndex={0} role="group" aria-label={name} className={cx('overflow-auto rounded-lg bg-code p-2.5 font-mono text-xs leading-relaxed', whole ? 'max-h-96' : 'max-h-56', bad && 'text-bad')}>
          <JsonTree value={value} open={sought} />
        </div>
      ) : (
        <pre tabIndex={0} dir="auto" aria-label={name} className={cx('overflow-auto rounded-lg bg-code p-2.5 font-mono text-xs leading-relaxed whitespace-pre-wrap [overflow-wrap:anywhere]', whole && 'max-h-96', bad && 'text-bad')}>
          {whole ? text : lines.slice(0, most).join('\n').slice(0, CHARACTERS)}
        </pre>
      )}
      {long && (
        <button type="button" aria-expanded={whole} className="mt-1 text-xs text-accent underline" onClick={() => setChosen(!whole)}>
          {whole ? 'Fold' : `Show all ${lines.length > most + 1 ? `${lines.length.toLocaleString()} lines` : `${text.length.toLocaleString()} characters`}`}
        </button>
      )}
    </div>
  );
}
