import { useVirtualizer } from '@tanstack/react-virtual';
import { Bot, Cpu, FoldVertical, Radio, User, Wrench } from 'lucide-react';
import { type KeyboardEvent, type RefObject, useLayoutEffect, useRef, useSyncExternalStore } from 'react';
import { duration } from '../components/format';
import { cx } from '../components/ui';
import type { LiveMessage } from '../live/message';
import type { Inspection } from './inspection';
import type { Entry, Span } from './rows';

const ROW = 34; // pixels
const NEAR = 20 * ROW; // from an end: closer than this more is read
const AT_END = ROW; // within this distance the list follows its end
const BRIEF = 160; // characters

interface Props {
  rows: Entry[];
  spans: Map<string, Span>;
  open: string | undefined;
  onOpen: (id: string) => void;
  narrow: boolean; // a row is open beside the list
  inspection: Inspection;
}

// Rows is the list. The visible rows stay in place, whatever arrives above or below; at
// its end the list follows the end.
export function Rows({ rows, spans, open, onOpen, narrow, inspection }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => scroller.current, estimateSize: () => ROW, getItemKey: (index) => rows[index]?.id ?? index, overscan: 12 });
  useAnchor(scroller, rows, open);
  const fill = () => {
    const at = scroller.current;
    if (!at) return;
    if (at.scrollTop < NEAR && inspection.older) void inspection.loadOlder();
    if (at.scrollHeight - at.scrollTop - at.clientHeight < NEAR && inspection.newer) void inspection.loadNewer();
  };
  useLayoutEffect(fill);
  const step = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    if (!by || event.metaKey || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    const at = rows.findIndex((row) => row.id === open);
    const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by));
    if (!rows[next]) return;
    virtual.scrollToIndex(next, { align: 'auto' });
    onOpen(rows[next].id);
    requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>(`[data-row="${rows[next]!.id}"]`)?.focus({ preventScroll: true }));
  };
  const reachable = rows.some((row) => row.id === open) ? open : rows.at(-1)?.id; // by Tab; arrow keys continue from there
  return (
    <div ref={scroller} onScroll={fill} onKeyDown={step} className="min-h-0 flex-1 overflow-auto" tabIndex={0} role="region" aria-label="Rows" data-rows>
      {rows.length === 0 && <p className="p-6 text-sm text-faint">No rows of these kinds. Switch on other kinds above.</p>}
      <ul className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const entry = rows[item.index];
          if (!entry) return null;
          const here = entry.id === open;
          return (
            <li key={item.key} className="absolute inset-x-0 top-0" style={{ height: ROW, transform: `translateY(${item.start}px)` }}>
              <button
                type="button"
                data-row={entry.id}
                tabIndex={entry.id === reachable ? 0 : -1}
                aria-current={here ? 'true' : undefined}
                onClick={() => onOpen(entry.id)}
                className={cx('flex h-full w-full items-center gap-3 border-b border-line px-3 text-left text-sm -outline-offset-2', here ? 'bg-accent-soft' : 'hover:bg-raised')}
              >
                <Mark entry={entry} />
                <time className="w-16 shrink-0 font-mono text-xs text-faint max-sm:hidden">{clockOf(entry.at)}</time>
                <span className={cx('shrink-0 truncate font-medium', entry.kind === 'event' ? 'w-36' : 'w-24')}>{nameOf(entry)}</span>
                <span className="min-w-0 flex-1 truncate text-soft">{entry.kind === 'message' && entry.running ? <Growing live={entry.live} /> : briefOf(entry)}</span>
                <span className="w-14 shrink-0 text-right text-xs text-faint">{entry.running ? <span className="text-accent">running</span> : entry.took === null ? '' : duration(entry.took)}</span>
                {!narrow && <Bar span={spans.get(entry.id)} entry={entry} />}
              </button>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

// useAnchor keeps the row at the top in place while rows come and go, follows the end,
// and scrolls to the row that the address names once it has been read.
function useAnchor(scroller: RefObject<HTMLDivElement | null>, rows: Entry[], open: string | undefined) {
  const place = useRef<{ id: string; offset: number } | null>(null); // null: the end
  const sought = useRef(open);
  useLayoutEffect(() => {
    const at = scroller.current;
    if (!at || rows.length === 0) return;
    const note = () => {
      const first = rows[Math.floor(at.scrollTop / ROW)];
      const end = at.scrollHeight - at.scrollTop - at.clientHeight < AT_END;
      place.current = end || !first ? null : { id: first.id, offset: at.scrollTop % ROW };
    };
    const index = (id: string | undefined) => rows.findIndex((row) => row.id === id);
    const target = index(sought.current);
    const top = index(place.current?.id);
    if (sought.current && target >= 0) {
      at.scrollTop = Math.max(0, target * ROW - at.clientHeight / 2);
      sought.current = undefined;
      note();
    } else if (!place.current) at.scrollTop = at.scrollHeight;
    else if (top >= 0 && at.scrollTop !== top * ROW + place.current.offset) at.scrollTop = top * ROW + place.current.offset;
    const given = () => (sought.current = undefined); // a person scrolls
    at.addEventListener('scroll', note, { passive: true });
    at.addEventListener('wheel', given, { passive: true });
    at.addEventListener('touchmove', given, { passive: true });
    return () => {
      at.removeEventListener('scroll', note);
      at.removeEventListener('wheel', given);
      at.removeEventListener('touchmove', given);
    };
  }, [rows, scroller]);
}

// Growing is the end of a streaming text.
function Growing({ live }: { live: LiveMessage }) {
  useSyncExternalStore(live.subscribe, live.snapshot);
  const text = live.text('text') || live.text('reasoning') || live.text('arguments');
  return <>{text.length > BRIEF ? `…${text.slice(-BRIEF)}` : text}</>;
}

function Bar({ span, entry }: { span: Span | undefined; entry: Entry }) {
  return (
    <span aria-hidden className="relative h-3 w-32 shrink-0 rounded bg-sunken max-sm:hidden">
      {span && (
        <span
          className={cx('absolute inset-y-0 min-w-0.5 rounded', entry.kind === 'call' ? 'bg-chart-1' : entry.kind === 'event' ? 'bg-line-strong' : 'bg-chart-2', entry.running && 'opacity-60')}
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
  if (entry.message.role === 'summary') return <FoldVertical size={15} aria-hidden className={className} />;
  return <Wrench size={15} aria-hidden className={className} />;
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });

function clockOf(at: number): string {
  return Number.isFinite(at) ? clock.format(at) : '';
}

export function nameOf(entry: Entry): string {
  if (entry.kind === 'call') return entry.call.purpose ?? 'model call';
  if (entry.kind === 'event') return entry.event.type;
  if (entry.message.role === 'tool_call') return entry.message.tool_name ?? 'tool call';
  return entry.message.role.replace('_', ' ');
}

export function briefOf(entry: Entry): string {
  switch (entry.kind) {
    case 'call':
      return `${entry.call.model} · ${entry.call.usage.input_tokens ?? '?'} in, ${entry.call.usage.output_tokens ?? '?'} out · ${entry.call.outcome}`;
    case 'event':
      return JSON.stringify(entry.event.data).slice(0, BRIEF);
    case 'message': {
      const { content } = entry.message;
      const says = content.text || (content.arguments ? JSON.stringify(content.arguments) : '');
      return (says || (entry.calls.length > 0 ? `calls ${entry.calls.join(', ')}` : '')).slice(0, BRIEF);
    }
  }
}
