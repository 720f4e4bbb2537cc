import { type ReactNode, useState } from 'react';
import { cx } from './ui';

// Json is a value of JSON that has members.
export type Json = Record<string, unknown> | unknown[];

const OPEN_DEPTH = 2; // levels that begin unfolded
const MANY = 20; // members above which a level begins folded
const SHOWN = 100; // members of a level, until more are asked for
const LONG = 300; // characters of a text, until all are asked for

// jsonOf reads a text that is an object or a list; null for everything else.
export function jsonOf(text: string): Json | null {
  if (!/^\s*[[{]/.test(text)) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isJson(value) ? value : null;
  } catch {
    return null; // it still streams, or is not JSON
  }
}

export const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null;

// JsonTree shows JSON with levels that fold.
export function JsonTree({ value, depth = 0, open }: { value: Json; depth?: number; open?: boolean }) {
  const [most, setMost] = useState(SHOWN);
  const members = Array.isArray(value) ? value.map((one, i): [string, unknown] => [String(i), one]) : Object.entries(value);
  return (
    <ul className={cx(depth > 0 && 'ml-1 border-l border-line pl-3')}>
      {members.slice(0, open ? Infinity : most).map(([name, one]) => (
        <li key={name} className="[overflow-wrap:anywhere]">
          {isJson(one) ? <Level name={name} value={one} depth={depth} open={open} /> : <Leaf name={name} value={one} open={open} />}
        </li>
      ))}
      {!open && members.length > most && (
        <li>
          <button type="button" className="text-accent underline" onClick={() => setMost(most + SHOWN)}>
            {members.length - most} more
          </button>
        </li>
      )}
    </ul>
  );
}

function Level({ name, value, depth, open }: { name: string; value: Json; depth: number; open?: boolean }) {
  const size = Array.isArray(value) ? value.length : Object.keys(value).length;
  const [chosen, setChosen] = useState<boolean | null>(null);
  const shown = chosen ?? (open || (depth < OPEN_DEPTH && size <= MANY));
  const brackets = Array.isArray(value) ? `[${size}]` : `{${size}}`;
  if (size === 0) return <Pair name={name}>{Array.isArray(value) ? '[]' : '{}'}</Pair>;
  return (
    <>
      <button type="button" aria-expanded={shown} onClick={() => setChosen(!shown)} className="rounded text-left hover:bg-hover">
        <span aria-hidden className="inline-block w-3 text-faint">
          {shown ? '▾' : '▸'}
        </span>
        <span className="text-accent-strong">{name}</span> <span className="text-faint">{brackets}</span>
      </button>
      {shown && <JsonTree value={value} depth={depth + 1} open={open} />}
    </>
  );
}

function Leaf({ name, value, open }: { name: string; value: unknown; open?: boolean }) {
  const [whole, setWhole] = useState(false);
  if (typeof value !== 'string') {
    return (
      <Pair name={name}>
        <span className="text-warn">{JSON.stringify(value)}</span>
      </Pair>
    );
  }
  const clipped = !whole && !open && value.length > LONG;
  return (
    <Pair name={name}>
      <span dir="auto" className="whitespace-pre-wrap text-good">
        {clipped ? `${value.slice(0, LONG)}…` : value}
      </span>
      {clipped && (
        <button type="button" className="ml-1 text-accent underline" onClick={() => setWhole(true)}>
          all {value.length.toLocaleString()} characters
        </button>
      )}
    </Pair>
  );
}

function Pair({ name, children }: { name: string; children: ReactNode }) {
  return (
    <span className="pl-3">
      <span className="text-accent-strong">{name}</span>
      <span className="text-faint">: </span>
      {children}
    </span>
  );
}
