import { Problem, request } from '../api/http';
import type { ID, Message, Page } from '../api/types';
import type { LiveMessage } from './message';

const PAGE = 60; // messages read at the end of a record, around a message, and per further page

// Read is a stretch of a record as the server returned it, oldest first.
export interface Read {
  messages: Message[];
  cursor: string | null; // of the page before the first
  ends: boolean; // the last message was the record's last
}

// Stretch is the loaded part of a record: consecutive messages by sequence, at the end of
// the record or anywhere else.
export class Stretch {
  order: LiveMessage[] = [];
  private cursor: string | null = null;
  private ends = true;
  private highest = 0; // the highest sequence known to be in the record
  private reading: { older: Promise<boolean> | null; newer: Promise<boolean> | null } = { older: null, newer: null };
  private taken = 0; // counts stretches taken, so that a page of an earlier one is dropped

  constructor(
    private readonly session: ID,
    private readonly keep: (message: Message) => LiveMessage,
  ) {}

  // older reports whether there are messages before the first one.
  get older(): boolean {
    return this.cursor !== null;
  }

  // newer reports whether there are messages after the last one.
  get newer(): boolean {
    return !this.ends;
  }

  private page(query: Record<string, string | number | null>): Promise<Page<Message>> {
    return request<Page<Message>>(`/v1/sessions/${this.session}/messages`, { query: { ...query, limit: PAGE } });
  }

  // tail reads the end of the record.
  async tail(): Promise<Read> {
    const page = await this.page({ order: 'desc' });
    return { messages: page.data.reverse(), cursor: page.next, ends: true };
  }

  // around reads the record around a message of it.
  async around(sequence: number): Promise<Read> {
    const [before, after] = await Promise.all([this.page({ order: 'desc', from_sequence: sequence }), this.page({ from_sequence: sequence + 1 })]);
    return { messages: [...before.data.reverse(), ...recorded(after)], cursor: before.next, ends: endsWith(after) };
  }

  // take replaces the stretch by what was read.
  take(read: Read): void {
    this.taken++;
    this.reading = { older: null, newer: null };
    this.order = read.messages.map(this.keep);
    this.cursor = read.cursor;
    this.ends = read.ends;
    this.settle();
  }

  // place inserts a message of the record at its position; one outside the stretch comes
  // with its page.
  place(live: LiveMessage): void {
    const sequence = live.message.sequence!;
    this.highest = Math.max(this.highest, sequence);
    if (this.order.includes(live)) return;
    let at = this.order.length;
    while (at > 0 && (this.order[at - 1]!.message.sequence ?? 0) > sequence) at--;
    if (at === 0 && this.older) return;
    if (at === this.order.length && this.newer) return;
    this.order = [...this.order.slice(0, at), live, ...this.order.slice(at)];
  }

  // loadOlder reads the page before the first message, loadNewer the one after the last;
  // they return whether something has changed.
  loadOlder(): Promise<boolean> {
    if (!this.older) return Promise.resolve(false);
    return this.load('older', { order: 'desc', cursor: this.cursor }, (page) => {
      this.order = [...this.added(page.data.reverse()), ...this.order];
      this.cursor = page.next;
    });
  }

  loadNewer(): Promise<boolean> {
    if (!this.newer) return Promise.resolve(false);
    return this.load('newer', { from_sequence: this.last + 1 }, (page) => {
      this.order = [...this.order, ...this.added(recorded(page))];
      this.ends = endsWith(page);
      this.settle();
    });
  }

  private load(side: 'older' | 'newer', query: Record<string, string | number | null>, add: (page: Page<Message>) => void): Promise<boolean> {
    const taken = this.taken;
    this.reading[side] ??= this.page(query)
      .then(
        (page) => {
          if (taken !== this.taken) return false;
          add(page);
          return true;
        },
        () => false, // the next scroll asks again
      )
      .finally(() => {
        if (taken === this.taken) this.reading[side] = null;
      });
    return this.reading[side];
  }

  private get last(): number {
    return this.order.at(-1)?.message.sequence ?? 0;
  }

  private added(messages: Message[]): LiveMessage[] {
    const shown = new Set(this.order);
    return messages.map(this.keep).filter((live) => !shown.has(live));
  }

  // settle makes sure that messages which arrived while a page was read are not missed.
  private settle(): void {
    if (this.last < this.highest) this.ends = false;
    this.highest = Math.max(this.highest, this.last);
  }
}

const recorded = (page: Page<Message>) => page.data.filter((message) => message.sequence !== null); // queued messages are not in the record

const endsWith = (page: Page<Message>) => page.next === null || recorded(page).length < page.data.length;

// sequenceOf finds the sequence of a message named by its id or by its sequence; null if
// it does not exist, or waits to enter the record.
export async function sequenceOf(at: string): Promise<number | null> {
  if (/^[1-9]\d{0,15}$/.test(at)) return Number(at);
  try {
    return (await request<Message>(`/v1/messages/${encodeURIComponent(at)}`)).sequence;
  } catch (error) {
    if (error instanceof Problem && error.status < 500) return null;
    throw error;
  }
}
