import { request } from '../api/http';
import type { StreamEvent } from '../api/events';
import type { Call, ID, Page } from '../api/types';
import { Transcript } from '../live/transcript';
import { readEvents } from './events';
import { type Entry, entriesOf } from './rows';

const CALLS = 100; // of a page
const LATEST = 20; // calls read again when a step begins or ends
const EVENTS = 400; // older events read at once
const MOST_EVENTS = 20_000; // kept
const SETTLE_MS = 120; // steps that begin and end together cause one read
const AGAIN_MS = 2_000; // after a failure

// Inspection is everything in a session, as far as it was read: the messages of a
// transcript, and the calls and events of the same time. Live events extend it at its
// end: a step reads the latest calls, a delta reads nothing.
export class Inspection {
  readonly transcript: Transcript;
  error: unknown = null;
  private calls = new Map<ID, Call>();
  private cursor: string | null = null; // of the calls before the oldest one read
  private begun = false;
  private events: StreamEvent[] = []; // one after the other, up to the last one
  private wantsEvents = false;
  private seen = 0; // the last event handled
  private version = 0;
  private listeners = new Set<() => void>();
  private ended = new AbortController();
  private planned: ReturnType<typeof setTimeout> | undefined;
  private reading: Promise<void> | null = null;
  private unsubscribe: (() => void) | null = null;
  private made: { version: number; entries: Entry[] } = { version: -1, entries: [] };

  constructor(readonly id: ID) {
    this.transcript = new Transcript(id);
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  snapshot = (): number => this.version;

  // open reads the end of the record, or the surroundings of the row of a message or call.
  open(row = ''): void {
    this.ended = new AbortController();
    this.unsubscribe = this.transcript.subscribe(() => this.follow());
    if (!row.startsWith('call-')) {
      this.transcript.open(row === '' || row.startsWith('event-') ? undefined : row);
      return;
    }
    const { signal } = this.ended;
    request<Call>(`/v1/calls/${row.slice('call-'.length)}`, { signal }).then(
      (call) => this.transcript.open(call.message_id ?? undefined),
      () => signal.aborted || this.transcript.open(), // the end always exists
    );
  }

  close(): void {
    this.unsubscribe?.();
    this.transcript.close();
    this.ended.abort();
    clearTimeout(this.planned);
    this.planned = undefined;
  }

  // entries are the rows, oldest first. Nothing before the oldest message that was read is
  // shown, so that no row is missing in between.
  get entries(): Entry[] {
    if (this.made.version !== this.version) {
      const { transcript } = this;
      const events = this.wantsEvents ? this.events : [];
      this.made = { version: this.version, entries: entriesOf(transcript.order, [...this.calls.values()], events, this.from, this.to) };
    }
    return this.made.entries;
  }

  get callList(): Call[] {
    return [...this.calls.values()].sort((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at));
  }

  // eventCount is the number of events, read or not: they are numbered without gaps.
  get eventCount(): number {
    return Math.max(this.seen, this.transcript.session?.last_event_sequence ?? 0);
  }

  get older(): boolean {
    return this.transcript.older;
  }

  get newer(): boolean {
    return this.transcript.newer;
  }

  // showEvents reads events too; there are many, and they are rarely wanted.
  showEvents(wanted: boolean): void {
    if (this.wantsEvents === wanted) return;
    this.wantsEvents = wanted;
    this.changed();
    void this.cover();
  }

  async loadOlder(): Promise<void> {
    await this.transcript.loadOlder();
    await this.cover();
  }

  async loadNewer(): Promise<void> {
    await this.transcript.loadNewer();
  }

  // from and to are the times between which rows are complete.
  private get from(): number {
    const first = this.transcript.order[0];
    return this.older && first ? Date.parse(first.message.created_at) : -Infinity;
  }

  private get to(): number {
    const last = this.transcript.order.at(-1);
    return this.newer && last ? Date.parse(last.message.created_at) : Infinity;
  }

  private changed(): void {
    this.version++;
    for (const listener of this.listeners) listener();
  }

  // follow handles the transcript's changes.
  private follow(): void {
    const { events, state } = this.transcript;
    if (state === 'ready') {
      const news = events.filter((event) => event.sequence! > this.seen);
      if (news.length > 0) this.append(news);
      if (!this.begun || news.some((event) => /^(step|compaction)\./.test(event.type))) this.planned ??= setTimeout(() => void this.readLatest(), this.begun ? SETTLE_MS : 0);
    }
    this.changed();
  }

  // append keeps live events; after a gap it starts over.
  private append(news: StreamEvent[]): void {
    if (this.seen > 0 && news[0]!.sequence! > this.seen + 1) {
      this.events = [];
      void this.cover();
    }
    this.events = [...this.events.slice(-MOST_EVENTS), ...news];
    this.seen = news.at(-1)!.sequence!;
  }

  private page(query: { limit: number; cursor?: string | null }): Promise<Page<Call>> {
    return request<Page<Call>>(`/v1/sessions/${this.id}/calls`, { query, signal: this.ended.signal });
  }

  private keep(page: Page<Call>): boolean {
    const known = page.data.some((call) => this.calls.has(call.id));
    for (const call of page.data) this.calls.set(call.id, call);
    return known;
  }

  // readLatest reads the newest calls, down to the known ones.
  private async readLatest(): Promise<void> {
    this.planned = undefined;
    try {
      let page = await this.page({ limit: this.begun ? LATEST : CALLS });
      if (!this.begun) this.cursor = page.next;
      while (!this.keep(page) && this.begun && page.next) page = await this.page({ limit: CALLS, cursor: page.next });
      this.begun = true;
      this.error = null;
    } catch (error) {
      if (this.ended.signal.aborted) return;
      this.error = error;
      this.planned ??= setTimeout(() => void this.readLatest(), AGAIN_MS);
    }
    this.changed();
    void this.cover();
  }

  // cover reads the calls and events back to the oldest message that was read.
  private cover(): Promise<void> {
    this.reading ??= this.readBack()
      .catch((error: unknown) => {
        if (!this.ended.signal.aborted) this.error = error;
      })
      .finally(() => {
        this.reading = null;
        this.changed();
      });
    return this.reading;
  }

  private async readBack(): Promise<void> {
    while (this.cursor && Math.min(...[...this.calls.values()].map((call) => Date.parse(call.created_at))) > this.from) {
      const page = await this.page({ limit: CALLS, cursor: this.cursor });
      this.keep(page);
      this.cursor = page.next;
    }
    while (this.wantsEvents) {
      const first = this.events[0];
      const through = (first?.sequence ?? (this.transcript.session?.last_event_sequence ?? 0) + 1) - 1;
      if (through <= 0 || this.events.length >= MOST_EVENTS || (first && Date.parse(first.created_at ?? '') < this.from)) return;
      const read = await readEvents(this.id, Math.max(0, through - EVENTS), through, this.ended.signal);
      if (read.length === 0) return;
      this.events = [...read, ...this.events];
    }
  }
}
