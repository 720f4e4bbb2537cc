import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowLeft, Bot, Cpu, Radio, User, Wrench, X } from 'lucide-react';
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { callList } from '../api/queries';
import { duration } from '../components/format';
import { Button, cx, IconButton, Loading } from '../components/ui';
import { Detail } from '../inspect/detail';
import { type Entry, entriesOf, FILTERS, type Only, shows, type Span, spansOf } from '../inspect/rows';
import { Transcript } from '../live/transcript';

const ROW = 34; // pixels

export function InspectPage() {
  const { id } = useParams({ from: '/c/$id/inspect' });
  return <Inspector key={id} id={id} />;
}

function Inspector({ id }: { id: string }) {
  const search = useSearch({ from: '/c/$id/inspect' });
  const only = FILTERS.find(([key]) => key === search.only)?.[0];
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [transcript] = useState(() => new Transcript(id));
  const version = useSyncExternalStore(transcript.subscribe, transcript.snapshot);
  const calls = useInfiniteQuery(callList(id));
  useEffect(() => {
    transcript.open();
    return () => transcript.close();
  }, [transcript]);
  useEffect(() => {
    document.title = `Inspector: ${transcript.session?.title ?? ''} – Parley`;
  }, [transcript.session?.title]);
  // A call's row is there from its step's beginning, and again when it ends.
  const steps = transcript.events.filter((event) => event.type.startsWith('step.')).length;
  useEffect(() => {
    if (steps > 0) void queries.invalidateQueries({ queryKey: ['calls', id] });
  }, [steps, id, queries]);
  const entries = useMemo(
    () => entriesOf(transcript.order.map((live) => live.message), calls.data?.pages.flatMap((page) => page.data) ?? [], transcript.events),
    [transcript, version, calls.data],
  );
  const spans = useMemo(() => spansOf(entries), [entries]);
  const rows = useMemo(() => entries.filter((entry) => shows(entry, only)), [entries, only]);
  const open = entries.find((entry) => entry.id === search.row);
  const show = (row: string | undefined) => void navigate({ to: '/c/$id/inspect', params: { id }, search: { ...(only ? { only } : {}), ...(row ? { row } : {}) }, replace: true });
  return (
    <div className="flex h-full flex-col">
      <header className="flex min-h-12 shrink-0 flex-wrap items-center gap-2 border-b border-line px-3 py-1 max-md:pl-12">
        <Link to="/c/$id" params={{ id }} aria-label="Back to the conversation" className="inline-flex size-8 items-center justify-center rounded-lg text-soft hover:bg-hover">
          <ArrowLeft size={16} aria-hidden />
        </Link>
        <h1 className="min-w-0 truncate text-sm font-semibold">Inspector: {transcript.session?.title}</h1>
        <span className="flex-1" />
        <div role="group" aria-label="Show only" className="flex flex-wrap gap-1">
          {FILTERS.map(([key, label]) => (
            <Button
              key={key}
              look="quiet"
              aria-pressed={only === key}
              className={cx('text-xs', only === key && 'bg-accent-soft text-accent-strong')}
              onClick={() => void navigate({ to: '/c/$id/inspect', params: { id }, search: { ...(only === key ? {} : { only: key }), ...(search.row ? { row: search.row } : {}) }, replace: true })}
            >
              {label}
            </Button>
          ))}
        </div>
      </header>
      <div className="flex min-h-0 flex-1 max-md:flex-col">
        <div className="flex min-h-0 min-w-0 flex-1 flex-col">
          {transcript.state === 'loading' ? (
            <div className="px-4">
              <Loading what="the record" />
            </div>
          ) : (
            <Rows rows={rows} spans={spans} open={search.row} onOpen={show} only={only} />
          )}
          <footer className="flex gap-2 border-t border-line px-3 py-1.5 text-xs text-faint">
            <span>{rows.length} rows</span>
            {transcript.older && (
              <button type="button" className="text-accent underline" onClick={() => void transcript.loadOlder()}>
                older messages
              </button>
            )}
            {calls.hasNextPage && (
              <button type="button" className="text-accent underline" onClick={() => void calls.fetchNextPage()}>
                older calls
              </button>
            )}
          </footer>
        </div>
        {open && (
          <aside aria-label="Row" className="w-[28rem] shrink-0 overflow-y-auto border-l border-line bg-bg p-4 max-md:h-1/2 max-md:w-full max-md:border-t max-md:border-l-0 lg:w-[36rem]">
            <div className="mb-3 flex items-center justify-between">
              <h2 className="truncate font-semibold">{nameOf(open)}</h2>
              <IconButton name="Close" onClick={() => show(undefined)}>
                <X size={16} />
              </IconButton>
            </div>
            <Detail key={open.id} entry={open} />
          </aside>
        )}
      </div>
    </div>
  );
}

function Rows({ rows, spans, open, onOpen, only }: { rows: Entry[]; spans: Map<string, Span>; open?: string; onOpen: (id: string) => void; only: Only | undefined }) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => scroller.current, estimateSize: () => ROW, getItemKey: (index) => rows[index]!.id, overscan: 12 });
  const settled = useRef(false);
  useEffect(() => {
    if (settled.current || rows.length === 0) return;
    settled.current = true;
    const at = rows.findIndex((row) => row.id === open);
    virtual.scrollToIndex(at >= 0 ? at : rows.length - 1, { align: at >= 0 ? 'center' : 'end' });
  }, [rows, open, virtual]);
  if (rows.length === 0) return <p className="p-6 text-sm text-faint">{only === 'events' ? 'Events that come from now on appear here.' : 'Nothing of this kind yet.'}</p>;
  return (
    <div ref={scroller} className="min-h-0 flex-1 overflow-auto" tabIndex={0} role="region" aria-label="Rows">
      <ul className="relative min-w-120" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const entry = rows[item.index]!;
          return (
            <li key={item.key} className="absolute inset-x-0 top-0" style={{ height: ROW, transform: `translateY(${item.start}px)` }}>
              <button
                type="button"
                aria-current={entry.id === open ? 'true' : undefined}
                onClick={() => onOpen(entry.id)}
                className={cx('flex h-full w-full items-center gap-3 border-b border-line px-3 text-left text-sm', entry.id === open ? 'bg-accent-soft' : 'hover:bg-raised')}
              >
                <Mark entry={entry} />
                <span className="w-28 shrink-0 truncate font-medium">{nameOf(entry)}</span>
                <span className="min-w-0 flex-1 truncate text-soft">{briefOf(entry)}</span>
                <span className="w-16 shrink-0 text-right text-xs text-faint">{entry.took === null ? '' : duration(entry.took)}</span>
                <Bar span={spans.get(entry.id)} kind={entry.kind} />
              </button>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function Bar({ span, kind }: { span: Span | undefined; kind: Entry['kind'] }) {
  return (
    <span aria-hidden className="relative h-3 w-32 shrink-0 rounded bg-sunken max-sm:hidden">
      {span && (
        <span
          className={cx('absolute inset-y-0 min-w-0.5 rounded', kind === 'call' ? 'bg-accent' : kind === 'event' ? 'bg-line-strong' : 'bg-good')}
          style={{ left: `${Math.min(99, span.from * 100)}%`, width: `${Math.max(1, span.width * 100)}%` }}
        />
      )}
    </span>
  );
}

function Mark({ entry }: { entry: Entry }) {
  const failed = entry.kind === 'message' ? entry.message.status === 'failed' || entry.result?.content.success === false : entry.kind === 'call' && entry.call.outcome === 'failed';
  const className = cx('shrink-0', failed ? 'text-bad' : 'text-faint');
  if (entry.kind === 'call') return <Cpu size={15} aria-hidden className={className} />;
  if (entry.kind === 'event') return <Radio size={15} aria-hidden className={className} />;
  if (entry.message.role === 'user') return <User size={15} aria-hidden className={className} />;
  if (entry.message.role === 'assistant') return <Bot size={15} aria-hidden className={className} />;
  return <Wrench size={15} aria-hidden className={className} />;
}

function nameOf(entry: Entry): string {
  if (entry.kind === 'call') return 'model call';
  if (entry.kind === 'event') return entry.event.type;
  if (entry.message.role === 'tool_call') return entry.message.tool_name ?? 'tool call';
  return entry.message.role.replace('_', ' ');
}

function briefOf(entry: Entry): string {
  switch (entry.kind) {
    case 'call':
      return `${entry.call.model} · ${entry.call.usage.input_tokens ?? '?'} in, ${entry.call.usage.output_tokens ?? '?'} out · ${entry.call.outcome}`;
    case 'event':
      return JSON.stringify(entry.event.data).slice(0, 160);
    case 'message': {
      const { content } = entry.message;
      return (content.text ?? (content.arguments ? JSON.stringify(content.arguments) : '')).slice(0, 160);
    }
  }
}
