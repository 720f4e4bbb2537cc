// @vitest-environment happy-dom
import { act } from 'react';
import { createRoot } from 'react-dom/client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Message } from '../api/types';
import { LiveMessage } from '../live/message';
import { Transcript } from '../live/transcript';

let drawn = 0; // how often the view was drawn: the activity line is drawn with it
vi.mock('./activity', () => ({ ActivityLine: () => <p>{++drawn}</p> }));
vi.mock('./message', () => ({ MessageRow: ({ live }: { live: LiveMessage }) => <article>{live.message.id}</article> }));
vi.mock('./tools', () => ({ ToolsRow: () => null }));

const HEIGHT = 600; // of the view
const ROW = 50;
let observers: Sizes[] = [];

// Sizes is a ResizeObserver whose sizes the test sets: there is no layout here.
class Sizes {
  readonly watched = new Set<Element>();
  constructor(readonly tell: (entries: { target: Element; borderBoxSize: { blockSize: number; inlineSize: number }[] }[]) => void) {
    observers.push(this);
  }
  observe(element: Element) {
    this.watched.add(element);
  }
  unobserve(element: Element) {
    this.watched.delete(element);
  }
  disconnect() {
    this.watched.clear();
  }
}

beforeEach(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  observers = [];
  vi.stubGlobal('ResizeObserver', Sizes);
  Object.assign(window, { ResizeObserver: Sizes });
  vi.spyOn(HTMLElement.prototype, 'clientHeight', 'get').mockReturnValue(HEIGHT);
  vi.spyOn(HTMLElement.prototype, 'offsetHeight', 'get').mockReturnValue(ROW);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const message = (n: number) =>
  new LiveMessage({ id: `m${n}`, sequence: n, turn_id: `t${n}`, role: 'user', status: 'completed', content: { text: 'x' } } as Message);

test('a growing row moves the rows below it without redrawing the view', async () => {
  const { TranscriptView } = await import('./view');
  const transcript = new Transcript('s');
  transcript.state = 'ready';
  vi.spyOn(transcript, 'order', 'get').mockReturnValue([message(1), message(2)]);
  const host = document.body.appendChild(document.createElement('div'));
  const root = createRoot(host);
  act(() => root.render(<TranscriptView transcript={transcript} find="" left={[]} onLatest={() => undefined} />));
  const rows = () => [...host.querySelectorAll<HTMLElement>('[data-index]')];
  const grow = (row: HTMLElement, to: number) =>
    act(() => {
      for (const one of observers) if (one.watched.has(row)) one.tell([{ target: row, borderBoxSize: [{ blockSize: to, inlineSize: HEIGHT }] }]);
    });
  expect(rows()).toHaveLength(3);
  const [, second, last] = rows() as [HTMLElement, HTMLElement, HTMLElement];
  grow(second, ROW + 10);
  const before = { drawn, top: parseFloat(last.style.top) };
  grow(second, ROW + 50);
  expect(parseFloat(last.style.top)).toBe(before.top + 40);
  expect(drawn).toBe(before.drawn);
  act(() => root.unmount());
});
