import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useRef } from 'react';
import { outlineOf, turnList } from '../api/queries';
import type { ID, Message, Turn } from '../api/types';
import { time } from '../components/format';
import { Badge, Button, cx, Failed, Loading } from '../components/ui';
import type { Transcript } from '../live/transcript';

const LONGEST = 160; // characters of a question that are shown

export interface Chapter {
  question: Message;
  tools: Map<string, number>; // name → calls
}

// chaptersOf folds questions and the calls behind them, given newest first, into
// chapters, oldest first. Calls whose question is on an earlier page wait for it.
export function chaptersOf(newestFirst: Message[]): Chapter[] {
  const chapters: Chapter[] = [];
  for (const message of newestFirst.toReversed()) {
    if (message.internal || message.sequence === null) continue;
    if (message.role === 'user') chapters.push({ question: message, tools: new Map() });
    else {
      const tools = chapters.at(-1)?.tools;
      const name = message.tool_name ?? '…';
      tools?.set(name, (tools.get(name) ?? 0) + 1);
    }
  }
  return chapters;
}

// Outline lists what was asked, with the tools that it led to and how it ended, and
// leads there.
export function Outline({ transcript, onJump }: { transcript: Transcript; onJump: (message: ID) => void }) {
  const queries = useQueryClient();
  const outline = useInfiniteQuery(outlineOf(transcript.id));
  const turns = useQuery(turnList(transcript.id));
  const { turn, running } = transcript.activity;
  useEffect(() => {
    void queries.invalidateQueries(outlineOf(transcript.id));
    void queries.invalidateQueries(turnList(transcript.id));
  }, [queries, transcript, turn, running]);
  const chapters = useMemo(() => chaptersOf(outline.data?.pages.flatMap((page) => page.data) ?? []), [outline.data]);
  const list = useRef<HTMLOListElement>(null);
  const shown = outline.isSuccess;
  useEffect(() => {
    // The entry where one reads is in sight, and takes the arrow keys.
    const current = list.current?.querySelector<HTMLElement>('[aria-current]');
    current?.scrollIntoView({ block: 'nearest' });
    if (document.activeElement === list.current?.closest('aside')) current?.focus({ preventScroll: true });
  }, [shown]);
  const ended = new Map(turns.data?.map((one) => [one.id, one]));
  if (outline.isPending) return <Loading what="the outline" />;
  if (outline.isError) return <Failed error={outline.error} onRetry={() => void outline.refetch()} />;
  if (chapters.length === 0) return <p className="text-sm text-faint">Nothing has been asked yet.</p>;
  const here = transcript.reading;
  const at = here === null ? chapters.length - 1 : chapters.findLastIndex((chapter) => chapter.question.sequence! <= here);
  return (
    <>
      {outline.hasNextPage && (
        <Button className="mb-2 w-full" disabled={outline.isFetchingNextPage} onClick={() => void outline.fetchNextPage()}>
          {outline.isFetchingNextPage ? 'Loading…' : 'Show earlier'}
        </Button>
      )}
      <ol ref={list} aria-label="What was asked" className="-mx-2 space-y-0.5">
        {chapters.map((chapter, i) => (
          <li key={chapter.question.id}>
            <Entry chapter={chapter} turn={ended.get(chapter.question.turn_id ?? '')} current={i === at} onJump={onJump} />
          </li>
        ))}
      </ol>
    </>
  );
}

function Entry({ chapter: { question, tools }, turn, current, onJump }: { chapter: Chapter; turn: Turn | undefined; current: boolean; onJump: (message: ID) => void }) {
  const words = question.content.text.trim().replace(/\s+/g, ' ') || 'Files';
  return (
    <button
      type="button"
      aria-current={current ? 'location' : undefined}
      onClick={() => onJump(question.id)}
      onKeyDown={(event) => {
        const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (!by) return;
        event.preventDefault();
        const all = [...event.currentTarget.closest('ol')!.querySelectorAll('button')];
        all[all.indexOf(event.currentTarget) + by]?.focus();
      }}
      className={cx('block w-full rounded-lg px-2 py-1.5 text-left text-sm hover:bg-hover', current && 'bg-hover')}
    >
      <span className="line-clamp-2 [overflow-wrap:anywhere]">{words.slice(0, LONGEST)}</span>
      <span className="mt-0.5 flex flex-wrap items-center gap-1.5 text-xs text-faint">
        #{question.sequence} · {time(question.created_at)}
        {question.author.kind !== 'person' && <span>by {question.author.name}</span>}
        {[...tools].slice(0, 3).map(([name, count]) => (
          <Badge key={name}>
            {name}
            {count > 1 && ` ×${count}`}
          </Badge>
        ))}
        {tools.size > 3 && <span>and {tools.size - 3} more</span>}
        {turn?.status === 'failed' && <Badge tone="bad">failed</Badge>}
        {turn?.status === 'cancelled' && <Badge>stopped</Badge>}
        {turn?.status === 'waiting' && <Badge tone="warn">waits</Badge>}
        {(turn?.status === 'running' || turn?.status === 'queued') && <Badge tone="accent">{turn.status}</Badge>}
      </span>
    </button>
  );
}
