import { Link } from '@tanstack/react-router';
import { ChevronRight, Pin } from 'lucide-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { Explanation, ID, Part } from '../api/types';
import { Payload } from '../components/payload';
import { compact, number, size } from '../components/format';
import { cx } from '../components/ui';
import { bytesOf, type Group, groupsOf, KINDS, labelOf, segmentsOf } from './parts';

const SHOWN = 40; // parts of a kind listed at once

interface Props {
  session: ID;
  explained: Explanation;
  cached: number; // tokens at the beginning that a cache held, or may hold
  cachedSays: string;
  open: number | undefined; // the position of the part that is shown in full
  onOpen: (at: number | undefined) => void;
}

// Sent shows a request as a stacked bar and as a list of its parts; each opens its exact bytes.
export function Sent({ session, explained, cached, cachedSays, open, onOpen }: Props) {
  const { parts } = explained;
  const groups = useMemo(() => groupsOf(parts), [parts]);
  return (
    <div className="space-y-3">
      <Gauge explained={explained} groups={groups} />
      <Bar parts={parts} open={open} onOpen={onOpen} />
      {cached > 0 && (
        <div className="!mt-1">
          <div aria-hidden className="h-1 rounded-full bg-good" style={{ width: `${(100 * Math.min(cached, explained.estimated_tokens)) / Math.max(1, explained.estimated_tokens)}%` }} />
          <p className="mt-1 text-xs text-good">
            {cachedSays}: {compact(cached)} of {compact(explained.estimated_tokens)} tokens
          </p>
        </div>
      )}
      <ul className="divide-y divide-line rounded-xl border border-line text-sm">
        {groups.map((group) => (
          <Kind key={group.kind} session={session} group={group} explained={explained} open={open} onOpen={onOpen} />
        ))}
      </ul>
    </div>
  );
}

// Gauge shows the whole window: what the request fills, and what an answer may take.
function Gauge({ explained, groups }: { explained: Explanation; groups: Group[] }) {
  const { used, context_length: length, max_output: most, share } = explained.window;
  if (!length) return <p className="text-xs text-soft">About {number(used)} tokens. How long the model’s window is, is not known.</p>;
  const width = (tokens: number) => ({ width: `${(100 * Math.min(tokens, length)) / length}%` });
  const says = `${number(used)} of ${number(length)} tokens, ${(100 * (share ?? 0)).toFixed(1)} % of the window`;
  return (
    <div>
      <p className="mb-1 flex flex-wrap justify-between gap-x-3 text-xs text-soft">
        <span>{says}</span>
        {most && <span className="text-faint">an answer may take {compact(most)}</span>}
      </p>
      <div role="img" aria-label={says} className="relative flex h-2 overflow-hidden rounded-full bg-sunken">
        {groups.map((group) => (
          <div key={group.kind} className={cx('h-full', KINDS[group.kind].colour)} style={width(group.tokens)} />
        ))}
        {most && <div className="absolute inset-y-0 right-0 border-l border-bg bg-line-strong" style={width(most)} />}
      </div>
    </div>
  );
}

// Bar is for people who see and point; the list below it is for everybody.
function Bar({ parts, open, onOpen }: { parts: Part[]; open: number | undefined; onOpen: (at: number | undefined) => void }) {
  const segments = useMemo(() => segmentsOf(parts), [parts]);
  return (
    <div aria-hidden className="flex h-7 gap-px overflow-hidden rounded-md bg-sunken" data-context-bar>
      {segments.map((segment) => {
        const here = open !== undefined && open >= segment.from && open <= segment.to;
        const first = parts[segment.from]!;
        const several = segment.to - segment.from;
        return (
          <button
            key={segment.from}
            type="button"
            tabIndex={-1}
            title={`${labelOf(first)}${several > 0 ? ` to ${labelOf(parts[segment.to]!)}` : ''}: ${number(segment.tokens)} tokens`}
            onClick={() => onOpen(here ? undefined : segment.from)}
            className={cx('h-full min-w-px basis-0 hover:opacity-75', KINDS[segment.kind].colour, open !== undefined && !here && 'opacity-35')}
            style={{ flexGrow: segment.tokens }}
          />
        );
      })}
    </div>
  );
}

function Kind({ session, group, explained, open, onOpen }: { session: ID; group: Group; explained: Explanation; open: number | undefined; onOpen: (at: number | undefined) => void }) {
  const here = open !== undefined && group.parts.includes(open);
  const [unfolded, setUnfolded] = useState(false);
  const [most, setMost] = useState(SHOWN);
  const expanded = here || unfolded;
  const through = Math.max(most, here ? group.parts.indexOf(open) + 1 : 0);
  const share = (100 * group.tokens) / Math.max(1, explained.estimated_tokens);
  return (
    <li>
      <button
        type="button"
        aria-expanded={expanded}
        onClick={() => {
          if (here) onOpen(undefined);
          setUnfolded(!expanded);
        }}
        className="flex min-h-9 w-full items-center gap-2 px-3 text-left hover:bg-hover"
      >
        <ChevronRight size={14} aria-hidden className={cx('shrink-0 text-faint', expanded && 'rotate-90')} />
        <span aria-hidden className={cx('size-2.5 shrink-0 rounded-sm', KINDS[group.kind].colour)} />
        <span className="min-w-0 flex-1 truncate">
          {KINDS[group.kind].name} {group.parts.length > 1 && <span className="text-faint">{number(group.parts.length)}</span>}
        </span>
        <span className="text-xs text-soft">{group.kind === 'parameters' ? size(group.bytes) : `${compact(group.tokens)} tokens`}</span>
        <span className="w-12 text-right text-xs text-faint">{group.kind === 'parameters' ? '' : `${share.toFixed(share < 10 ? 1 : 0)} %`}</span>
      </button>
      {expanded && (
        <ol className="border-t border-line bg-bg pb-1">
          {group.parts.slice(0, through).map((at) => (
            <Row key={at} session={session} part={explained.parts[at]!} request={explained.request} open={at === open} onToggle={() => onOpen(at === open ? undefined : at)} />
          ))}
          {through < group.parts.length && (
            <li>
              <button type="button" className="px-3 py-1.5 text-xs text-accent underline" onClick={() => setMost(through + 5 * SHOWN)}>
                Show more of the remaining {number(group.parts.length - through)}
              </button>
            </li>
          )}
        </ol>
      )}
    </li>
  );
}

function Row({ session, part, request, open, onToggle }: { session: ID; part: Part; request: string; open: boolean; onToggle: () => void }) {
  const here = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (open) here.current?.scrollIntoView({ block: 'nearest' });
  }, [open]);
  return (
    <li ref={here}>
      <button type="button" aria-expanded={open} onClick={onToggle} className={cx('flex min-h-8 w-full items-center gap-2 px-3 text-left text-xs hover:bg-hover', open && 'bg-accent-soft')}>
        <span className="w-36 shrink-0 truncate font-medium">{labelOf(part)}</span>
        {part.pinned && <Pin size={12} aria-label="pinned" className="shrink-0 text-accent" />}
        <span className="min-w-0 flex-1 truncate text-faint">{part.reason}</span>
        <span className="shrink-0 text-soft">{part.kind === 'parameters' ? size(part.bytes) : number(part.tokens)}</span>
      </button>
      {open && (
        <div className="space-y-2 px-3 py-2">
          <p className="text-xs text-soft">
            Included because: {part.reason}. {size(part.bytes)}, about {number(part.tokens)} tokens
            {(part.cached_tokens ?? 0) > 0 && `, ${number(part.cached_tokens!)} of them from the cache`}.{' '}
            {part.message_id && (
              <Link to="/c/$id" params={{ id: session }} search={{ at: part.message_id }} className="text-accent underline underline-offset-2">
                Show it in the conversation
              </Link>
            )}
          </p>
          {part.span ? (
            <Payload name={`Its bytes in the request, ${number(part.span.offset)} to ${number(part.span.offset + part.span.length)}`} text={bytesOf(request, part)} />
          ) : (
            <p className="text-xs text-faint">{part.kind === 'parameters' ? 'They surround everything else: see the whole request.' : 'It has no place of its own in the request: the provider’s format leaves it out or writes it differently.'}</p>
          )}
        </div>
      )}
    </li>
  );
}
