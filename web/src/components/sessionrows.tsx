import { Link, useParams } from '@tanstack/react-router';
import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual';
import { ChevronRight, Pin } from 'lucide-react';
import { memo, type ReactNode, Suspense, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { Session } from '../api/types';
import { part } from '../live/arrive';
import type { Family } from './families';
import { time } from './format';
import { useReader } from './role';
import { ForkMark, StatusDot } from './status';
import { titleOf } from './title';
import { cx } from './ui';
import { unread, useSaw, useSeen } from './unread';

const RowMenu = part(() => import('./rowmenu'), 'RowMenu');

export const PINNED = 'Pinned';
const ROW = 2.25; // heights in rem, equal to the classes below
const HEADING = 2;
const OVERSCAN = 12;

type Line = { heading: string } | { session: Session; branches?: Session[]; inside?: boolean };

// SessionRows shows conversations in their groups, and draws only the visible ones.
export function SessionRows({ groups, children }: { groups: [string, Family[]][]; children: ReactNode }) {
  const open = useParams({ strict: false }).id;
  const scroller = useRef<HTMLDivElement>(null);
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const lines = useMemo(
    () =>
      groups.flatMap(([heading, families]): Line[] => [
        { heading },
        ...families.flatMap(({ session, branches }): Line[] => {
          const shows = unfolded.has(session.id) || branches.some((branch) => branch.id === open);
          return [{ session, branches }, ...(shows ? branches.map((branch) => ({ session: branch, inside: true })) : [])];
        }),
      ]),
    [groups, unfolded, open],
  );
  const fold = useCallback((id: string) => setUnfolded((was) => (was.has(id) ? new Set([...was].filter((one) => one !== id)) : new Set([...was, id]))), []);
  const opened = useMemo(() => lines.findIndex((line) => 'session' in line && line.session.id === open), [lines, open]);
  const rem = useMemo(() => parseFloat(getComputedStyle(document.documentElement).fontSize) || 16, []);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => ('session' in lines[index]! ? ROW : HEADING) * rem,
    getItemKey: (index) => keyOf(lines[index]!),
    overscan: OVERSCAN,
    // The open one and its neighbours are always drawn: keys move from one to the next.
    rangeExtractor: (range) => {
      const shown = new Set(defaultRangeExtractor(range));
      for (let near = opened - 2; opened >= 0 && near <= opened + 2; near++) if (near >= 0 && near < lines.length) shown.add(near);
      return [...shown].sort((a, b) => a - b);
    },
    directDomUpdates: true,
    directDomUpdatesMode: 'position',
  });
  useEffect(() => {
    if (opened >= 0) virtual.scrollToIndex(opened, { align: 'auto' });
    // oxlint-disable-next-line exhaustive-deps -- when another one is opened, not when the open one moves
  }, [open, opened >= 0]);
  return (
    <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto px-2 pb-2" data-session-list>
      <ul ref={virtual.containerRef} className="relative" aria-label="Conversations">
        {virtual.getVirtualItems().map((item) => {
          const line = lines[item.index]!;
          return (
            <li key={item.key} ref={virtual.measureElement} data-index={item.index} className="absolute inset-x-0 top-0">
              {'session' in line ? <Row session={line.session} open={item.index === opened} branches={line.branches?.length ?? 0} inside={line.inside ?? false} unfolded={'session' in (lines[item.index + 1] ?? {}) && (lines[item.index + 1] as { inside?: boolean }).inside === true} onFold={fold} /> : <Heading name={line.heading} />}
            </li>
          );
        })}
      </ul>
      {children}
    </div>
  );
}

function keyOf(line: Line): string {
  return 'session' in line ? line.session.id : line.heading;
}

function Heading({ name }: { name: string }) {
  return (
    <h3 className="flex h-8 items-end gap-1 px-2 pb-1 text-xs font-medium text-faint">
      {name === PINNED && <Pin size={11} aria-hidden className="mb-0.5" />} {name}
    </h3>
  );
}

const Row = memo(function Row({ session, open, branches, inside, unfolded, onFold }: { session: Session; open: boolean; branches: number; inside: boolean; unfolded: boolean; onFold: (id: string) => void }) {
  const reader = useReader();
  const news = unread(session, useSeen()) && !open;
  useSaw(open ? session : undefined);
  return (
    <div className={cx('group/row relative flex items-center', inside && 'pl-4')}>
    <Link
      to="/c/$id"
      params={{ id: session.id }}
      aria-current={open ? 'page' : undefined}
      className={cx('flex h-9 min-w-0 flex-1 items-center gap-2 rounded-lg px-2 text-sm', open ? 'bg-hover font-medium text-text' : news ? 'font-semibold text-text hover:bg-hover' : 'text-soft hover:bg-hover hover:text-text')}
    >
      <StatusDot status={session.status} wait={session.wait_reason} />
      <ForkMark session={session} />
      <span dir="auto" className="min-w-0 flex-1 truncate">
        {titleOf(session)}
      </span>
      {news && <span role="img" aria-label="Unread" title="Unread" data-unread className="size-2 shrink-0 rounded-full bg-accent" />}
      <time className="shrink-0 text-xs font-normal text-faint group-focus-within/row:invisible group-hover/row:invisible pointer-coarse:invisible" dateTime={session.updated_at}>
        {time(session.updated_at)}
      </time>
    </Link>
      {branches > 0 && (
        <button type="button" aria-expanded={unfolded} aria-label={`${branches} ${branches === 1 ? 'branch' : 'branches'} of ${titleOf(session)}`} onClick={() => onFold(session.id)} className="flex h-7 shrink-0 items-center rounded-lg px-1 text-xs text-faint hover:bg-hover hover:text-text">
          <ChevronRight size={13} aria-hidden className={cx('transition-transform', unfolded && 'rotate-90')} />
          {branches}
        </button>
      )}
      {!reader && (
        <span className={cx('absolute top-1 opacity-0 group-focus-within/row:opacity-100 group-hover/row:opacity-100 pointer-coarse:opacity-100', branches > 0 ? 'right-9' : 'right-0.5')}>
          <Suspense fallback={null}>
            <RowMenu session={session} />
          </Suspense>
        </span>
      )}
    </div>
  );
});
