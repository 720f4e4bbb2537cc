import { memo, type ReactNode, useState } from 'react';
import { pointerTo } from './pointer';
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

// Choice lets people choose a part of the tree, by its JSON Pointer.
export interface Choice {
  chosen: string | null;
  onChoose: (pointer: string) => void; // the same function each time
}

// JsonTree shows JSON with levels that fold; with unfolds, those at the top begin unfolded, however long. A part that
// keeps its identity is not drawn again.
export function JsonTree({ value, depth = 0, open, unfolds, at = '', choice }: { value: Json; depth?: number; open?: boolean; unfolds?: boolean; at?: string; choice?: Choice }) {
  const [most, setMost] = useState(SHOWN);
  const members = Array.isArray(value) ? value.map((one, i): [string, unknown] => [String(i), one]) : Object.entries(value);
  return (
    <ul className={cx(depth > 0 && 'ml-1 border-l border-line pl-3')}>
      {members.slice(0, open ? Infinity : most).map(([name, one]) => {
        const here = choice && pointerTo(at, name);
        const within = here !== undefined && choice?.chosen?.startsWith(here);
        return <Member key={name} name={name} value={one} depth={depth} open={open} unfolds={unfolds} at={here} chosen={within ? choice!.chosen : null} onChoose={choice?.onChoose} />;
      })}
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

interface MemberProps {
  name: string;
  value: unknown;
  depth: number;
  open?: boolean;
  unfolds?: boolean;
  at?: string; // its pointer, where parts can be chosen
  chosen: string | null; // where it may be this one, or below
  onChoose?: (pointer: string) => void;
}

const Member = memo(function Member(props: MemberProps) {
  const { value, at, chosen } = props;
  return (
    <li data-pointer={at} className={cx('[overflow-wrap:anywhere]', at !== undefined && chosen === at && 'rounded bg-accent-soft')}>
      {isJson(value) ? <Level {...props} value={value} /> : <Leaf {...props} />}
    </li>
  );
});

function Level({ name, value, depth, open, unfolds, at, chosen, onChoose }: MemberProps & { value: Json }) {
  const size = Array.isArray(value) ? value.length : Object.keys(value).length;
  const [begins] = useState((unfolds && depth === 0) || (depth < OPEN_DEPTH && size <= MANY)); // one that grows does not fold
  const [chosenOpen, setChosenOpen] = useState<boolean | null>(null);
  const shown = chosenOpen ?? (open || begins);
  const brackets = Array.isArray(value) ? `[${size}]` : `{${size}}`;
  if (size === 0)
    return (
      <Pair name={name} at={at} chosen={chosen} onChoose={onChoose}>
        {Array.isArray(value) ? '[]' : '{}'}
      </Pair>
    );
  return (
    <>
      <button type="button" aria-expanded={shown} onClick={() => setChosenOpen(!shown)} className="rounded text-left hover:bg-hover">
        <span aria-hidden className="inline-block w-3 text-faint">
          {shown ? '▾' : '▸'}
        </span>
        {!onChoose && <span className="text-accent-strong">{name} </span>}
        {onChoose && <span className="sr-only">{name}</span>}
        {!onChoose && <span className="text-faint">{brackets}</span>}
      </button>
      {onChoose && (
        <>
          <Name name={name} at={at} chosen={chosen} onChoose={onChoose} /> <span className="text-faint">{brackets}</span>
        </>
      )}
      {shown && <JsonTree value={value} depth={depth + 1} open={open} at={at} choice={onChoose && { chosen, onChoose }} />}
    </>
  );
}

function Leaf({ name, value, open, at, chosen, onChoose }: MemberProps) {
  const [whole, setWhole] = useState(false);
  if (typeof value !== 'string') {
    return (
      <Pair name={name} at={at} chosen={chosen} onChoose={onChoose}>
        <span className="text-warn">{JSON.stringify(value)}</span>
      </Pair>
    );
  }
  const clipped = !whole && !open && value.length > LONG;
  return (
    <Pair name={name} at={at} chosen={chosen} onChoose={onChoose}>
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

type Named = Pick<MemberProps, 'name' | 'at' | 'chosen' | 'onChoose'>;

function Pair({ children, ...named }: Named & { children: ReactNode }) {
  return (
    <span className="pl-3">
      <Name {...named} />
      <span className="text-faint">: </span>
      {children}
    </span>
  );
}

function Name({ name, at, chosen, onChoose }: Named) {
  if (!onChoose || at === undefined) return <span className="text-accent-strong">{name}</span>;
  return (
    <button type="button" aria-pressed={chosen === at} title={`Choose ${at}`} onClick={() => onChoose(at)} className="rounded text-accent-strong hover:bg-hover hover:underline">
      {name}
    </button>
  );
}
