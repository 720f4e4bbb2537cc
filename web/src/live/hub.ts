import { EVENT_TYPES, type StreamEvent } from '../api/events';
import type { FromTab, LinkState, ToTab } from './protocol';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 8_000;
const REOPEN_AFTER_MS = 30; // collects changes of several tabs

// Source is the part of EventSource that the hub needs.
export interface Source {
  addEventListener(type: string, listener: (event: MessageEvent) => void): void;
  close(): void;
  onopen: ((event: Event) => void) | null;
  onerror: ((event: Event) => void) | null;
}

// Hub holds the page's one connection to the workspace feed, for all tabs: its address
// names the sessions that they watch, and from which event on.
export class Hub {
  private tabs = new Map<string, { sessions: Map<string, number>; tell: (message: ToTab) => void }>();
  private seen = new Map<string, number>(); // per session, the last durable event passed on
  private source: Source | null = null;
  private opened = ''; // the sessions of the open connection
  private state: LinkState = 'connecting';
  private pause = FIRST_PAUSE_MS;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly open: (address: string) => Source) {}

  join(tab: string, tell: (message: ToTab) => void): void {
    this.tabs.set(tab, { sessions: new Map(), tell });
    tell({ kind: 'state', state: this.state });
    this.plan(REOPEN_AFTER_MS);
  }

  hear(message: FromTab): void {
    const tab = this.tabs.get(message.tab);
    if (!tab) return;
    if (message.kind === 'leave') {
      this.tabs.delete(message.tab);
    } else if (message.kind === 'renew') {
      this.source?.close(); // it was opened as the previous user
      this.source = null;
      for (const [name, other] of this.tabs) if (name !== message.tab) other.tell({ kind: 'renewed' });
    } else {
      const before = tab.sessions;
      tab.sessions = new Map(Object.entries(message.sessions));
      // A session that a tab begins to watch is replayed from that tab's position;
      // the others drop the events that they have had.
      for (const [session, after] of tab.sessions) {
        if (!before.has(session)) this.seen.set(session, Math.min(after, this.seen.get(session) ?? after));
        if (!before.has(session)) this.opened = '';
      }
    }
    this.plan(REOPEN_AFTER_MS);
  }

  private wanted(): Map<string, number> {
    const wanted = new Map<string, number>();
    for (const tab of this.tabs.values()) {
      for (const [session, after] of tab.sessions) wanted.set(session, this.seen.get(session) ?? after);
    }
    for (const session of this.seen.keys()) if (!wanted.has(session)) this.seen.delete(session);
    return wanted;
  }

  private plan(after: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.connect(), after);
  }

  private connect(): void {
    if (this.tabs.size === 0) {
      this.source?.close();
      this.source = null;
      return;
    }
    const wanted = this.wanted();
    const names = [...wanted.keys()].sort().join();
    if (this.source && names === this.opened) return;
    this.source?.close();
    this.opened = names;
    const search = new URLSearchParams();
    for (const [session, after] of wanted) search.append('session', `${session}:${after}`);
    const source = this.open(`/v1/events?${search}`);
    this.source = source;
    source.onopen = () => {
      this.pause = FIRST_PAUSE_MS;
      this.become('live');
    };
    source.onerror = () => {
      // The browser's own reconnect would use an old address.
      source.close();
      if (this.source !== source) return;
      this.source = null;
      this.become('reconnecting');
      this.plan(this.pause * (0.5 + Math.random() / 2));
      this.pause = Math.min(this.pause * 2, LONGEST_PAUSE_MS);
    };
    for (const type of EVENT_TYPES) {
      source.addEventListener(type, (event) => {
        if (this.source === source) this.pass(JSON.parse(event.data) as StreamEvent);
      });
    }
  }

  private pass(event: StreamEvent): void {
    if (event.session_id && event.sequence) this.seen.set(event.session_id, event.sequence);
    for (const tab of this.tabs.values()) {
      if (event.sequence && event.session_id) {
        const had = tab.sessions.get(event.session_id);
        if (had === undefined || event.sequence <= had) continue; // not this tab's session, or a replay for another tab
        tab.sessions.set(event.session_id, event.sequence);
      }
      tab.tell({ kind: 'event', event });
    }
  }

  private become(state: LinkState): void {
    if (state === this.state) return;
    this.state = state;
    for (const tab of this.tabs.values()) tab.tell({ kind: 'state', state });
  }
}
