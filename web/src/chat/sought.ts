import type { Virtualizer } from '@tanstack/react-virtual';
import { type RefObject, useLayoutEffect, useRef, useState } from 'react';
import type { Transcript } from '../live/transcript';
import { type Row, rowAt } from './rows';

const ABOVE = 72; // pixels kept free above the target
const STILL = 3; // unchanged frames after which the scroll has landed
const LONGEST = 120; // frames after which landing is given up
const MARKED_MS = 2_500;
const LINE = 24; // pixels
const FOUND = 'found'; // the highlight of the search text

type Hold = 'lands' | 'stays' | null;

export interface Sought {
  key: string; // of the row
  sequence: number;
  quiet: boolean; // it is only where a person was: nothing is highlighted or unfolded
}

// rangesOf finds a text in an element, ignoring case.
function rangesOf(element: Element, find: string): Range[] {
  const wanted = find.toLowerCase();
  const ranges: Range[] = [];
  if (wanted === '') return ranges;
  const nodes = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
    const text = (node.nodeValue ?? '').toLowerCase();
    if (text.length !== node.nodeValue?.length) continue; // lower case changed the length: positions would be wrong
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + wanted.length);
      ranges.push(range);
    }
  }
  return ranges;
}

// topOf is the position to scroll to: the search text if it is further down in the
// element than fits on the screen, else the element.
function topOf(element: Element, found: Range | undefined, room: number): number {
  const { top } = element.getBoundingClientRect();
  if (!found) return top;
  const box = found.startContainer.parentElement?.closest('pre');
  if (box && box.scrollHeight > box.clientHeight) {
    const off = found.getBoundingClientRect().top - box.getBoundingClientRect().top;
    if (off < 0 || off > box.clientHeight - LINE) box.scrollTop += off - box.clientHeight / 3;
  }
  const inside = found.getBoundingClientRect().top;
  return inside - top > room / 2 ? inside - room / 3 : top;
}

// useSought scrolls to the transcript's target and highlights it for a moment, and in it
// the search text. While it lands, and until the person moves (release), nothing else
// scrolls: holds says so.
export function useSought(
  transcript: Transcript,
  rows: Row[],
  scroller: RefObject<HTMLDivElement | null>,
  virtual: Virtualizer<HTMLDivElement, Element>,
  stick: (at: boolean) => void,
  find: string,
): { sought: Sought | null; holds: RefObject<Hold>; release: () => void } {
  const { target } = transcript;
  const [sought, setSought] = useState<Sought | null>(null);
  const holds = useRef<Hold>(null);
  const latest = useRef(rows);
  latest.current = rows;
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element || !target || target.kind === 'missing') return;
    if (target.kind === 'end') {
      holds.current = null;
      stick(true);
      element.scrollTop = element.scrollHeight;
      return;
    }
    const row = latest.current[rowAt(latest.current, target.sequence)];
    if (!row) return;
    stick(false);
    holds.current = 'lands';
    const { offset } = target;
    setSought({ key: row.key, sequence: target.sequence, quiet: offset !== undefined });
    let frame = 0;
    let still = 0;
    let frames = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const landed = () => (timer = setTimeout(() => setSought(null), MARKED_MS));
    const land = () => {
      if (holds.current !== 'lands') return void landed(); // the person moved
      const shown = element.querySelector('[data-sought]');
      const index = latest.current.findIndex((one) => one.key === row.key);
      const found = shown ? rangesOf(shown, find) : [];
      const top = shown
        ? element.scrollTop + topOf(shown, found[0], element.clientHeight) - element.getBoundingClientRect().top - (offset ?? ABOVE)
        : (virtual.getOffsetForIndex(Math.max(0, index), 'start')?.[0] ?? 0) - (offset ?? ABOVE);
      const most = element.scrollHeight - element.clientHeight;
      const wanted = Math.round(Math.max(0, Math.min(top, most)));
      if (Math.abs(element.scrollTop - wanted) > 1 || !shown) {
        virtual.scrollToOffset(wanted);
        still = 0;
      } else {
        still++;
      }
      if (still >= STILL || ++frames > LONGEST) {
        holds.current = 'stays';
        landed();
        if (found.length > 0 && 'highlights' in CSS) CSS.highlights.set(FOUND, new Highlight(...found));
        setSought((was) => was && { ...was }); // landed: earlier and later pages may be loaded now
        if (document.activeElement === document.body) element.focus({ preventScroll: true }); // so that keys scroll it
      } else {
        frame = requestAnimationFrame(land);
      }
    };
    frame = requestAnimationFrame(land);
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
      if ('highlights' in CSS) CSS.highlights.delete(FOUND);
    };
    // oxlint-disable-next-line exhaustive-deps -- once per target; the rest is read at that time
  }, [target]);
  return { sought, holds, release: () => (holds.current = null) };
}
