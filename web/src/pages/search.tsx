import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { FileSearch, Search as SearchIcon, SearchX } from 'lucide-react';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { Offline, Problem } from '../api/http';
import { type SearchChoice, searchFor } from '../api/search';
import { useSettled } from '../components/settled';
import { titled } from '../components/tab';
import { Button, cx, Empty, Failed, Input, Loading, Page } from '../components/ui';
import { Filters, unfiltered } from './filters';
import { Hit } from './hit';

const PAUSE_MS = 120; // after typing, before the search

let opened: string | null = null; // the last opened hit, to return to it

const hitsIn = (element: HTMLElement | null) => [...(element?.querySelectorAll<HTMLElement>('[data-hit]') ?? [])];

export function SearchPage() {
  const choice = useSearch({ from: '/search' });
  const navigate = useNavigate();
  const field = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [text, setText] = useState(choice.q ?? '');
  const told = useRef(choice.q ?? ''); // the last text written to the address
  const settled = useSettled(text, PAUSE_MS);
  const go = (next: SearchChoice, replace: boolean) => void navigate({ to: '/search', search: next, replace });
  useEffect(() => {
    titled(choice.q ? `${choice.q} – Search – Parley` : 'Search – Parley');
  }, [choice.q]);
  // Typed text goes into the address, and navigating to an address fills the field.
  useEffect(() => {
    if (settled !== told.current) {
      told.current = settled;
      go({ ...choice, q: settled || undefined }, true);
    }
    // oxlint-disable-next-line exhaustive-deps -- depends only on the typed text
  }, [settled]);
  useEffect(() => {
    if ((choice.q ?? '') !== told.current) {
      told.current = choice.q ?? '';
      setText(told.current);
    }
  }, [choice.q]);
  const asked = (choice.q ?? '').trim();
  const found = useInfiniteQuery(searchFor(choice));
  const pages = asked ? (found.data?.pages ?? []) : [];
  const hits = pages.flatMap((page) => page.data);
  const old = found.isPlaceholderData || (text.trim() !== asked && asked !== '');
  useEffect(() => {
    if (!asked) opened = null;
    if (!opened) field.current?.focus();
    // oxlint-disable-next-line exhaustive-deps -- once, at the start
  }, []);
  useEffect(() => {
    if (!opened || hits.length === 0) return;
    hitsIn(list.current).find((hit) => hit.dataset.hit === opened)?.focus();
    opened = null;
  }, [hits.length]);
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.nativeEvent.isComposing) return;
    const all = hitsIn(list.current);
    const at = all.indexOf(document.activeElement as HTMLElement);
    const typing = event.target === field.current;
    const down = event.key === 'ArrowDown' || (!typing && event.key === 'j');
    const up = event.key === 'ArrowUp' || (!typing && event.key === 'k');
    if (event.key === 'Escape' && !typing) field.current?.focus();
    else if (typing && event.key === 'Enter' && !old) all[0]?.focus();
    else if (!typing && at < 0) return; // in a filter
    else if (down) (all[at + 1] ?? list.current?.querySelector<HTMLElement>('[data-more]') ?? all[at])?.focus();
    else if (up && !typing) (at > 0 ? all[at - 1]! : field.current!).focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const more = () => {
    const before = hits.length;
    void found.fetchNextPage().then(() => requestAnimationFrame(() => hitsIn(list.current)[before]?.focus()));
  };
  return (
    <Page title="Search" about="Messages and titles of every conversation.">
      <div onKeyDown={onKey} role="search">
        <div className="relative">
          <SearchIcon size={17} aria-hidden className="absolute top-1/2 left-3 -translate-y-1/2 text-faint" />
          <Input
            ref={field}
            type="search"
            data-search
            aria-label="Search for"
            placeholder="Words of a message, a title, a tool’s result…"
            value={text}
            onChange={(event) => setText(event.target.value)}
            maxLength={400}
            className="h-11 pl-10 text-base"
          />
        </div>
        <Filters choice={choice} onChange={(change) => go({ ...choice, ...change }, false)} />
        <div ref={list} className="mt-5" aria-busy={old || found.isFetching}>
          <p role="status" className="sr-only">
            {asked && found.isSuccess && !old ? `${hits.length}${found.hasNextPage ? ' or more' : ''} found` : ''}
          </p>
          {pages[0]?.complete === false && (
            <p role="status" className="mb-3 rounded-xl border border-line bg-warn-soft px-4 py-2 text-sm text-warn">
              Older messages are still being indexed. If something is missing, search again in a few minutes.
            </p>
          )}
          <Troubles error={found.error ?? found.failureReason} onRetry={() => void found.refetch()} />
          {!asked && <Beginning />}
          {asked && found.isPending && !found.failureReason && <Loading what="the results" />}
          {hits.length > 0 && (
            <ol aria-label="Results" className={cx('space-y-1 transition-opacity', old && 'opacity-50')}>
              {hits.map((hit) => (
                <li key={`${hit.session.id} ${hit.message?.id ?? ''}`}>
                  <Hit hit={hit} onOpen={(id) => (opened = id)} />
                </li>
              ))}
            </ol>
          )}
          {asked && found.isSuccess && hits.length === 0 && <Nothing choice={choice} dimmed={old} onWiden={() => go({ q: choice.q }, false)} />}
          {found.hasNextPage && hits.length > 0 && (
            <Button data-more className="mt-4 w-full" disabled={found.isFetchingNextPage} onClick={more}>
              {found.isFetchingNextPage ? 'Loading…' : 'Load more'}
            </Button>
          )}
        </div>
      </div>
    </Page>
  );
}

// Troubles says why there is no result: an invalid query, or a failure.
function Troubles({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  if (!error) return null;
  if (error instanceof Problem && error.status === 422) {
    return (
      <p role="status" className="mb-4 rounded-xl border border-line bg-raised px-4 py-3 text-sm">
        {error.message.replace(/^q: /, 'This ')}
      </p>
    );
  }
  return (
    <div className="mb-4">
      <Failed error={error} onRetry={error instanceof Offline ? undefined : onRetry} />
    </div>
  );
}

function Beginning() {
  return (
    <Empty icon={<FileSearch size={28} />} title="Search everything that was said.">
      <p>
        Messages, answers, tool calls and their results, summaries, titles. All words must occur; the last one may be incomplete: <Example>deploy stag</Example>. Quotes find a phrase: <Example>"out of memory"</Example>. A minus leaves out:{' '}
        <Example>timeout -test</Example>.
      </p>
      <p className="mt-2 text-xs text-faint max-md:hidden">↓ or j and k move through the results, Enter opens one, Esc returns to the field.</p>
    </Empty>
  );
}

function Example({ children }: { children: string }) {
  return <code className="rounded bg-sunken px-1 py-0.5 font-mono text-[13px] whitespace-nowrap">{children}</code>;
}

function Nothing({ choice, dimmed, onWiden }: { choice: SearchChoice; dimmed: boolean; onWiden: () => void }) {
  return (
    <div className={cx(dimmed && 'opacity-50')}>
      <Empty icon={<SearchX size={28} />} title="Nothing was found.">
        <p>Try fewer words, or the beginning of a word. {choice.q?.includes('"') && 'Without quotes the words may be anywhere. '}</p>
        {!unfiltered(choice) && (
          <Button className="mt-3" onClick={onWiden}>
            Search without filters
          </Button>
        )}
      </Empty>
    </div>
  );
}
