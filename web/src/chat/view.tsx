import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown } from 'lucide-react';
import { useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { Failed } from '../components/ui';
import type { Transcript } from '../live/transcript';
import { ActivityLine } from './activity';
import { MessageRow } from './message';
import { rowsOf } from './rows';
import { ToolsRow } from './tools';

const NEAR_TOP = 800; // pixels from the first row at which older ones are read
const NEAR_END = 24; // pixels from the end that count as the end
const ESTIMATE = 120;
const GAP = 20;

// TranscriptView shows a conversation. It stays at the end while a person is there,
// and lets go at once when they scroll up.
export function TranscriptView({ transcript }: { transcript: Transcript }) {
  const version = useSyncExternalStore(transcript.subscribe, transcript.snapshot);
  const rows = useMemo(() => rowsOf(transcript), [transcript, version]);
  const scroller = useRef<HTMLDivElement>(null);
  const [pinned, setPinned] = useState(true);
  const pin = useRef(true);
  const stick = (at: boolean) => {
    pin.current = at;
    setPinned(at);
  };
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
    scrollEndThreshold: NEAR_END,
  });
  const total = virtual.getTotalSize();
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element && pin.current) element.scrollTop = element.scrollHeight;
  }, [total, count]);
  useEffect(() => {
    const element = scroller.current!;
    let last = element.scrollTop;
    const onScroll = () => {
      const atEnd = element.scrollHeight - element.scrollTop - element.clientHeight <= NEAR_END;
      if (atEnd && element.scrollTop >= last) stick(true);
      last = element.scrollTop;
      if (element.scrollTop < NEAR_TOP) void transcript.loadOlder();
    };
    // Any intent to go up unpins before the scroll itself is seen.
    const onWheel = (event: WheelEvent) => event.deltaY < 0 && stick(false);
    let touch = 0;
    const onTouchStart = (event: TouchEvent) => (touch = event.touches[0]?.clientY ?? 0);
    const onTouchMove = (event: TouchEvent) => (event.touches[0]?.clientY ?? 0) > touch && stick(false);
    const onKey = (event: KeyboardEvent) => {
      if (['PageUp', 'ArrowUp', 'Home'].includes(event.key)) stick(false);
    };
    const onPointer = (event: PointerEvent) => event.target === element && stick(false); // the scroll bar
    element.addEventListener('scroll', onScroll, { passive: true });
    element.addEventListener('wheel', onWheel, { passive: true });
    element.addEventListener('touchstart', onTouchStart, { passive: true });
    element.addEventListener('touchmove', onTouchMove, { passive: true });
    element.addEventListener('keydown', onKey);
    element.addEventListener('pointerdown', onPointer);
    return () => {
      element.removeEventListener('scroll', onScroll);
      element.removeEventListener('wheel', onWheel);
      element.removeEventListener('touchstart', onTouchStart);
      element.removeEventListener('touchmove', onTouchMove);
      element.removeEventListener('keydown', onKey);
      element.removeEventListener('pointerdown', onPointer);
    };
  }, [transcript]);
  const jump = () => {
    stick(true);
    const element = scroller.current!;
    element.scrollTop = element.scrollHeight;
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'End' && !(event.target instanceof HTMLTextAreaElement || event.target instanceof HTMLInputElement)) jump();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
  const latest = rows.length - 1;
  return (
    <div className="relative min-h-0 flex-1">
      <div ref={scroller} className="h-full overflow-y-auto [overflow-anchor:none]" tabIndex={0} role="log" aria-live="off" aria-label="Conversation" data-transcript>
        <div className="relative mx-auto w-full max-w-3xl px-4" style={{ height: total }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index];
            return (
              <div key={item.key} data-index={item.index} ref={virtual.measureElement} className="absolute inset-x-4 top-0" style={{ transform: `translateY(${item.start}px)` }}>
                {!row ? (
                  <ActivityLine transcript={transcript} />
                ) : row.kind === 'tools' ? (
                  <ToolsRow calls={row.calls} transcript={transcript} version={version} />
                ) : (
                  <MessageRow live={row.live} ends={row.ends} latest={item.index === latest} />
                )}
              </div>
            );
          })}
        </div>
      </div>
      {transcript.state === 'failed' && (
        <div className="absolute inset-x-4 top-14 mx-auto max-w-xl">
          <Failed error={transcript.error} onRetry={() => transcript.retry()} />
        </div>
      )}
      {!pinned && (
        <button
          type="button"
          onClick={jump}
          className="absolute bottom-3 left-1/2 flex h-8 -translate-x-1/2 items-center gap-1.5 rounded-full border border-line-strong bg-bg px-3 text-xs font-medium shadow-pop hover:bg-hover"
        >
          <ArrowDown size={14} aria-hidden /> Jump to latest
        </button>
      )}
    </div>
  );
}
