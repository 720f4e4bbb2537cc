import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown } from 'lucide-react';
import { type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { typing } from '../components/shortcuts';
import type { LeftOut } from '../api/types';
import { cx, Loading } from '../components/ui';
import { leftOutAt } from '../context/outlook';
import type { Transcript } from '../live/transcript';
import { ActivityLine } from './activity';
import { MessageRow } from './message';
import { beginsAt, rowsOf } from './rows';
import { useSought } from './sought';
import { ToolsRow } from './tools';

const NEAR_EDGE = 800; // pixels from the first and last row at which more are loaded
const NEAR_END = 24; // pixels from the end that count as the end
const ESTIMATE = 120;
const GAP = 8; // messages have room for their actions below them

// gap is the distance from the visible part to the end.
const gap = (element: HTMLElement) => element.scrollHeight - element.scrollTop - element.clientHeight;

// TranscriptView shows a conversation. It follows the end while a person is there, and
// lets go as soon as they scroll up. It scrolls to the transcript's target and stays
// there; find is a text to highlight in it. onLatest is called to show the end of the
// record while another part is shown. left are the messages that the model does not see,
// to be marked.
export function TranscriptView({ transcript, find, left, onLatest }: { transcript: Transcript; find: string; left: LeftOut[]; onLatest: () => void }) {
  const version = useSyncExternalStore(transcript.subscribe, transcript.snapshot);
  const rows = useMemo(() => rowsOf(transcript), [transcript, version]);
  const scroller = useRef<HTMLDivElement>(null);
  const [pinned, setPinned] = useState(transcript.target?.kind !== 'message');
  const pin = useRef(pinned);
  const stick = (at: boolean) => {
    pin.current = at;
    if (at) transcript.reading = null;
    setPinned(at);
  };
  const [below, setBelow] = useState(false); // there is more below the visible part
  const count = rows.length + 1; // the line of activity is the last row
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => ESTIMATE,
    getItemKey: (index) => rows[index]?.key ?? 'activity',
    overscan: 6,
    gap: GAP,
    paddingStart: 48,
    paddingEnd: 24,
    anchorTo: 'end',
    scrollEndThreshold: pinned ? NEAR_END : -1, // an unpinned view does not follow the end
    // Rows move in place: a growing message redraws itself, not the view.
    directDomUpdates: true,
    directDomUpdatesMode: 'position',
    onChange: ({ scrollRect, scrollOffset, getTotalSize }) => {
      const short = getTotalSize() - (scrollRect?.height ?? 0) - (scrollOffset ?? 0);
      if (!pin.current) setBelow(short > NEAR_END);
      else if (short > 1) toEnd(scroller.current);
    },
  });
  useLayoutEffect(() => {
    if (pin.current) toEnd(scroller.current);
  }, [count]);
  const settled = useSettled(scroller);
  const { sought, holds, release } = useSought(transcript, rows, scroller, virtual, stick, find);
  const edges = () => {
    const element = scroller.current;
    if (!element || holds.current === 'lands') return;
    if (element.scrollTop < NEAR_EDGE) void transcript.loadOlder();
    if (gap(element) < NEAR_EDGE) void transcript.loadNewer();
  };
  useEffect(edges, [count, sought]);
  const shown = useRef(rows);
  shown.current = rows;
  useEffect(() => {
    const element = scroller.current!;
    let last = element.scrollTop;
    let leaves = false; // the person wants to go up but has not moved yet: earlier scroll events still arrive
    const onScroll = () => {
      const atEnd = gap(element) <= NEAR_END;
      const up = element.scrollTop < last;
      setBelow(!atEnd);
      if (up) leaves = false;
      if (atEnd && !up && !leaves && !holds.current && !transcript.newer) stick(true);
      last = element.scrollTop;
      const item = virtual.getVirtualItemForOffset(last);
      const row = shown.current[item?.index ?? 0];
      if (!pin.current && row) transcript.reading = { sequence: beginsAt(row), offset: (item?.start ?? last) - last };
      edges();
    };
    // Any intent to go up unpins before the scroll event itself.
    const goes = (up: boolean) => {
      leaves = up && element.scrollTop > 0;
      if (leaves) stick(false);
    };
    const onWheel = (event: WheelEvent) => event.deltaY !== 0 && goes(event.deltaY < 0);
    let touch = 0;
    const onTouchStart = (event: TouchEvent) => (touch = event.touches[0]?.clientY ?? 0);
    const onTouchMove = (event: TouchEvent) => goes((event.touches[0]?.clientY ?? 0) > touch);
    const onKey = (event: KeyboardEvent) => {
      if (['PageUp', 'ArrowUp', 'Home'].includes(event.key)) goes(true);
      if (['PageDown', 'ArrowDown', 'End', ' '].includes(event.key)) goes(event.key === ' ' && event.shiftKey);
    };
    const onPointer = (event: PointerEvent) => event.target === element && goes(true); // the scroll bar
    const gestures = ['wheel', 'touchstart', 'keydown', 'pointerdown'];
    for (const gesture of gestures) element.addEventListener(gesture, release, { passive: true });
    element.addEventListener('scroll', onScroll, { passive: true });
    element.addEventListener('wheel', onWheel, { passive: true });
    element.addEventListener('touchstart', onTouchStart, { passive: true });
    element.addEventListener('touchmove', onTouchMove, { passive: true });
    element.addEventListener('keydown', onKey);
    element.addEventListener('pointerdown', onPointer);
    return () => {
      for (const gesture of gestures) element.removeEventListener(gesture, release);
      element.removeEventListener('scroll', onScroll);
      element.removeEventListener('wheel', onWheel);
      element.removeEventListener('touchstart', onTouchStart);
      element.removeEventListener('touchmove', onTouchMove);
      element.removeEventListener('keydown', onKey);
      element.removeEventListener('pointerdown', onPointer);
    };
  }, [transcript]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (typing(event.target)) return;
      if (event.key === 'End') onLatest();
      if (event.key === 'Home') {
        event.preventDefault(); // the browser goes to the first message that is loaded
        void transcript.goTo('1');
      }
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
  const latest = transcript.newer ? -1 : rows.length - 1;
  return (
    <div className="relative min-h-0 flex-1">
      <div ref={scroller} className="h-full overflow-y-auto -outline-offset-2 [overflow-anchor:none]" tabIndex={0} role="log" aria-live="off" aria-label="Conversation" data-transcript>
        <div ref={virtual.containerRef} className={cx('relative mx-auto w-full max-w-3xl px-4', !settled && 'invisible')}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index];
            const gone = row && leftOutAt(left, beginsAt(row));
            const marked = row?.kind === 'message' && row.key === sought?.key;
            return (
              <div key={item.key} data-index={item.index} ref={virtual.measureElement} className={cx('absolute inset-x-4 top-0', marked && !sought?.quiet && 'sought', gone && 'border-l-2 border-dashed border-line-strong pl-3')} data-sought={marked || undefined} data-fate={gone?.fate}>
                {gone && <p className="text-xs text-faint">The model does not see this: {gone.reason}</p>}
                {row?.kind === 'tools' ? (
                  <ToolsRow calls={row.calls} transcript={transcript} version={version} sought={row.key === sought?.key && !sought.quiet ? sought.sequence : null} marked={row.key === sought?.key} />
                ) : row ? (
                  <MessageRow live={row.live} ends={row.ends} latest={item.index === latest} sought={marked} question={row.ends ? row.question?.sequence : undefined} before={row.question?.before} later={row.later} />
                ) : transcript.newer ? (
                  <Loading what="what came after" />
                ) : (
                  <ActivityLine transcript={transcript} />
                )}
              </div>
            );
          })}
        </div>
      </div>
      {transcript.target?.kind === 'missing' && (
        <p role="status" className="absolute inset-x-4 top-2 mx-auto w-fit rounded-lg border border-line bg-warn-soft px-3 py-1.5 text-sm text-warn shadow-pop">
          The message is not in this conversation. This is the end of the conversation.
        </p>
      )}
      {((!pinned && below) || transcript.newer) && (
        <button
          type="button"
          onClick={onLatest}
          className="absolute bottom-3 left-1/2 flex h-8 -translate-x-1/2 items-center gap-1.5 rounded-full border border-line-strong bg-bg px-3 text-xs font-medium shadow-pop hover:bg-hover"
        >
          <ArrowDown size={14} aria-hidden /> Jump to latest
        </button>
      )}
    </div>
  );
}

const STILL = 2; // unchanged frames after which rows have their heights
const UNSETTLED_MS = 500; // after which they are shown in any case

// useSettled reports when the first rows have been measured: until then they would jump
// from where they were expected to be.
function useSettled(scroller: RefObject<HTMLDivElement | null>): boolean {
  const [settled, setSettled] = useState(false);
  useLayoutEffect(() => {
    const began = performance.now();
    let [still, was, frame] = [0, '', 0];
    const look = () => {
      const now = `${scroller.current?.scrollHeight} ${scroller.current?.scrollTop}`;
      still = now === was ? still + 1 : 0;
      was = now;
      if (still >= STILL || performance.now() - began > UNSETTLED_MS) setSettled(true);
      else frame = requestAnimationFrame(look);
    };
    look();
    return () => cancelAnimationFrame(frame);
  }, [scroller]);
  return settled;
}

function toEnd(element: HTMLElement | null): void {
  if (element) element.scrollTop = element.scrollHeight;
}
