import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { outlineOf, turnList } from '../api/queries';
import type { ID, Turn } from '../api/types';
import { time } from '../components/format';
import { Badge, Button, cx, Failed, Loading } from '../components/ui';
import type { Transcript } from '../live/transcript';
import { entriesOf, type Entry, type Filter } from './chapters';

const FILTERS: [Filter, string][] = [
  ['human', 'Asked'],
  ['assistant', 'Answered'],
  ['tool', 'Tools'],
];

interface Props {
  transcript: Transcript;
  onJump: (message: ID) => void;
}

// Outline lists questions, with the tools used for them and how they ended, or answers,
// or all tool calls, and links to them.
export function Outline({ transcript, onJump }: Props) {
  const [filter, setFilter] = useState<Filter>('human');
  return (
    <>
      <div role="group" aria-label="Whose messages" className="mb-3 flex gap-1 text-xs">
        {FILTERS.map(([one, name]) => (
          <button key={one} type="button" aria-pressed={one === filter} onClick={() => setFilter(one)} className={cx('h-7 rounded-full border px-3', one === filter ? 'border-accent bg-accent-soft font-medium text-accent-strong' : 'border-line text-soft hover:bg-hover')}>
            {name}
          </button>
        ))}
      </div>
      <Entries key={filter} filter={filter} transcript={transcript} onJump={onJump} />
    </>
  );
}

function Entries({ filter, transcript, onJump }: Props & { filter: Filter }) {
  const queries = useQueryClient();
  const outline = useInfiniteQuery(outlineOf(transcript.id, filter));
  const turns = useQuery({ ...turnList(transcript.id), enabled: filter === 'human' });
  const { turn, running } = transcript.activity;
  useEffect(() => {
    void queries.invalidateQueries(outlineOf(transcript.id, filter));
    void queries.invalidateQueries(turnList(transcript.id));
  }, [queries, transcript, filter, turn, running]);
  const entries = useMemo(() => entriesOf(filter, outline.data?.pages.flatMap((page) => page.data) ?? []), [filter, outline.data]);
  const list = useRef<HTMLOListElement>(null);
  const shown = outline.isSuccess;
  useEffect(() => {
    // The entry in view is scrolled into sight, and takes the arrow keys.
    const current = list.current?.querySelector<HTMLElement>('[aria-current]');
    current?.scrollIntoView({ block: 'nearest' });
    if (document.activeElement === list.current?.closest('aside')) current?.focus({ preventScroll: true });
  }, [shown]);
  const ended = new Map(turns.data?.map((one) => [one.id, one]));
  if (outline.isPending) return <Loading what="the outline" />;
  if (outline.isError) return <Failed error={outline.error} onRetry={() => void outline.refetch()} />;
  const here = transcript.reading?.sequence ?? null;
  const at = here === null ? entries.length - 1 : entries.findLastIndex((entry) => entry.message.sequence! <= here);
  return (
    <>
      {outline.hasNextPage && (
        <Button className="mb-2 w-full" disabled={outline.isFetchingNextPage} onClick={() => void outline.fetchNextPage()}>
          {outline.isFetchingNextPage ? 'Loading…' : 'Show earlier'}
        </Button>
      )}
      {entries.length === 0 && !outline.hasNextPage && <p className="text-sm text-faint">{filter === 'tool' ? 'No tool was called.' : filter === 'human' ? 'Nothing has been asked yet.' : 'Nothing has been answered yet.'}</p>}
      <ol ref={list} aria-label="Outline" className="-mx-2 space-y-0.5">
        {entries.map((entry, i) => (
          <li key={entry.message.id}>
            <Line entry={entry} turn={ended.get(entry.message.turn_id ?? '')} current={i === at} onJump={onJump} />
          </li>
        ))}
      </ol>
    </>
  );
}

function Line({ entry: { message, words, tools, failed }, turn, current, onJump }: { entry: Entry; turn: Turn | undefined; current: boolean; onJump: (message: ID) => void }) {
  return (
    <button
      type="button"
      aria-current={current ? 'location' : undefined}
      onClick={() => onJump(message.id)}
      onKeyDown={(event) => {
        const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (!by) return;
        event.preventDefault();
        const all = [...event.currentTarget.closest('ol')!.querySelectorAll('button')];
        all[all.indexOf(event.currentTarget) + by]?.focus();
      }}
      className={cx('block w-full rounded-lg px-2 py-1.5 text-left text-sm -outline-offset-2 hover:bg-hover', current && 'bg-hover')}
    >
      <span className="line-clamp-2 [overflow-wrap:anywhere]">{words}</span>
      <span className="mt-0.5 flex flex-wrap items-center gap-1.5 text-xs text-faint">
        #{message.sequence} · {time(message.created_at)}
        {message.role === 'user' && message.author.kind !== 'person' && <span>by {message.author.name}</span>}
        {[...tools].slice(0, 3).map(([name, count]) => (
          <Badge key={name}>
            {name}
            {count > 1 && ` ×${count}`}
          </Badge>
        ))}
        {tools.size > 3 && <span>and {tools.size - 3} more</span>}
        {(failed || turn?.status === 'failed') && <Badge tone="bad">failed</Badge>}
        {turn?.status === 'cancelled' && <Badge>stopped</Badge>}
        {turn?.status === 'waiting' && <Badge tone="warn">waiting</Badge>}
        {(turn?.status === 'running' || turn?.status === 'queued') && <Badge tone="accent">{turn.status}</Badge>}
      </span>
    </button>
  );
}
