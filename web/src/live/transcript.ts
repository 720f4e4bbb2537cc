import { request } from '../api/http';
import type { Approval, Delta, Failure, ID, Message, Page, Session, StreamEvent, WaitReason } from '../api/types';
import { feed } from './feed';
import { LiveMessage } from './message';

const PAGE = 60; // messages of the first page, and of each older one
const PENDING = 200; // queued messages and open approvals that are read

// ToolRun is what is known of a call beyond its rows.
export interface ToolRun {
  startedAt: number | null;
  progress: { progress: number; total: number | null; message: string } | null;
}

export interface Retry {
  attempt: number;
  class: string;
  until: number;
}

// Activity is what a session is doing, for "never silent".
export interface Activity {
  running: boolean;
  turn: ID | null; // the one that runs
  since: number;
  step: number;
  wait: WaitReason | null;
  sentence: string;
  retry: Retry | null;
  failure: Failure | null;
}

const IDLE: Activity = { running: false, turn: null, since: 0, step: 0, wait: null, sentence: '', retry: null, failure: null };

// Transcript is the record of one session as the page has it: a snapshot with its
// event sequence, and every event after it.
export class Transcript {
  readonly messages = new Map<ID, LiveMessage>();
  order: LiveMessage[] = []; // in the record, by sequence
  queue: LiveMessage[] = []; // waiting to enter it
  approvals = new Map<string, Approval>(); // by tool call
  runs = new Map<string, ToolRun>(); // by tool call
  activity: Activity = IDLE;
  events: StreamEvent[] = []; // those that came since the snapshot, for the inspector
  session: Session | null = null;
  private cursor: string | null = null; // of the page before the first message
  state: 'loading' | 'ready' | 'failed' = 'loading';
  error: unknown = null;

  private version = 0;
  private listeners = new Set<() => void>();
  private unwatch: (() => void) | null = null;
  private ending = 0;
  private loadingOlder: Promise<void> | null = null;
  private wanted = new Set<ID>(); // messages to be read
  private planned: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly id: ID) {}

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  snapshot = (): number => this.version;

  // older tells whether there is more before the first message.
  get older(): boolean {
    return this.cursor !== null;
  }

  // open reads the tail and follows the session; close ends that.
  open(): void {
    void this.load();
  }

  close(): void {
    this.ending++;
    this.unwatch?.();
    this.unwatch = null;
    clearTimeout(this.planned);
  }

  private async load(): Promise<void> {
    const run = ++this.ending;
    this.unwatch?.();
    this.unwatch = null;
    const path = `/v1/sessions/${this.id}`;
    try {
      // The session first: what happens after its event sequence comes as events.
      const session = await request<Session>(path);
      const [tail, queued, approvals] = await Promise.all([
        request<Page<Message>>(`${path}/messages`, { query: { order: 'desc', limit: PAGE } }),
        request<Page<Message>>(`${path}/messages`, { query: { status: 'queued', limit: PENDING } }),
        request<Page<Approval>>(`${path}/approvals`, { query: { state: 'pending', limit: PENDING } }),
      ]);
      if (run !== this.ending) return;
      this.messages.clear();
      this.order = tail.data.reverse().map((message) => this.keep(message));
      this.queue = queued.data.map((message) => this.keep(message));
      this.cursor = tail.next;
      this.approvals = new Map(approvals.data.map((approval) => [approval.tool_call_id, approval]));
      this.session = session;
      this.activity = {
        ...IDLE,
        running: session.status === 'running' || session.status === 'waiting',
        turn: session.turn_id,
        since: Date.now(),
        wait: session.wait_reason,
      };
      this.state = 'ready';
      this.unwatch = feed.watch(this.id, session.last_event_sequence, (event) => this.apply(event));
    } catch (error) {
      if (run !== this.ending) return;
      if (this.state === 'ready') {
        this.planned = setTimeout(() => void this.load(), 2_000); // shown as it was until the server is back
        return;
      }
      this.state = 'failed';
      this.error = error;
    }
    this.changed();
  }

  retry(): void {
    this.state = 'loading';
    this.changed();
    void this.load();
  }

  // loadOlder reads the page before the first message.
  loadOlder(): Promise<void> {
    if (!this.cursor) return Promise.resolve();
    this.loadingOlder ??= request<Page<Message>>(`/v1/sessions/${this.id}/messages`, {
      query: { order: 'desc', limit: PAGE, cursor: this.cursor },
    })
      .then((page) => {
        const before = page.data.reverse().filter((message) => !this.messages.has(message.id));
        this.order = [...before.map((message) => this.keep(message)), ...this.order];
        this.cursor = page.next;
        this.changed();
      })
      .catch(() => undefined) // asked for again by the next scroll
      .finally(() => (this.loadingOlder = null));
    return this.loadingOlder;
  }

  private keep(message: Message): LiveMessage {
    const known = this.messages.get(message.id);
    if (known) {
      known.replace(message);
      return known;
    }
    const live = new LiveMessage(message);
    this.messages.set(message.id, live);
    return live;
  }

  // place puts a message where it belongs now.
  place(message: Message): void {
    const live = this.keep(message);
    this.queue = this.queue.filter((one) => one !== live);
    if (message.sequence === null) {
      if (message.status === 'queued') {
        this.queue = [...this.queue, live].sort((a, b) => (a.message.position ?? 0) - (b.message.position ?? 0));
      }
    } else if (!this.order.includes(live)) {
      let at = this.order.length;
      while (at > 0 && (this.order[at - 1]!.message.sequence ?? 0) > message.sequence) at--;
      if (at === 0 && this.older) return; // before what is shown
      this.order = [...this.order.slice(0, at), live, ...this.order.slice(at)];
    }
    this.changed();
  }

  private want(id: ID): void {
    this.wanted.add(id);
    this.planned ??= setTimeout(() => void this.readWanted(), 20);
  }

  private async readWanted(): Promise<void> {
    this.planned = undefined;
    const ids = [...this.wanted];
    this.wanted.clear();
    const run = this.ending;
    await Promise.all(
      ids.map(async (id) => {
        try {
          const message = await request<Message>(`/v1/messages/${id}`);
          if (run === this.ending) this.place(message);
        } catch {
          // gone meanwhile, or offline: a resync reads it
        }
      }),
    );
  }

  private changed(): void {
    this.version++;
    for (const listener of this.listeners) listener();
  }

  private act(change: Partial<Activity>): void {
    this.activity = { ...this.activity, ...change };
  }

  private apply(event: StreamEvent): void {
    const data = event.data;
    if (event.type === 'step.generating') {
      const delta = data as Delta;
      const live = this.messages.get(delta.message_id);
      if (!live) return;
      const silent = live.silent;
      if (!live.append(delta)) this.want(delta.message_id);
      if (silent && !live.silent) this.changed(); // it has a row from its first word on
      return;
    }
    if (event.sequence) this.events = [...this.events.slice(-999), event];
    switch (event.type) {
      case 'resync':
        void this.load();
        return;
      case 'message.created':
        this.created(event);
        break;
      case 'message.queued':
      case 'message.marked':
        this.want(data.message_id);
        break;
      case 'message.removed':
        this.queue = this.queue.filter((live) => live.message.id !== data.message_id);
        break;
      case 'session.started':
        this.act({ running: true, turn: data.turn_id, since: Date.now(), wait: null, sentence: '', retry: null, failure: null });
        break;
      case 'session.waiting':
        this.act({ running: true, wait: data.reason, sentence: data.sentence ?? '', retry: null });
        break;
      case 'session.completed':
      case 'session.failed':
      case 'session.cancelled':
        if (!this.activity.turn || this.activity.turn === data.turn_id) {
          this.activity = { ...IDLE, failure: event.type === 'session.failed' ? data.turn.error : null };
        } // else a queued turn was taken back
        void this.readSession();
        break;
      case 'context.cleared':
        void this.readSession();
        break;
      case 'step.started':
        this.act({ running: true, since: Date.now(), step: data.step, wait: null, retry: null });
        this.started(event);
        break;
      case 'step.retrying':
        this.act({ retry: { attempt: data.attempt, class: data.class, until: Date.now() + data.wait_ms } });
        break;
      case 'step.generated':
      case 'step.error':
        this.settled(data);
        break;
      case 'tool.started':
        this.runs.set(data.tool_call_id, { startedAt: Date.parse(event.created_at ?? '') || Date.now(), progress: null });
        break;
      case 'tool.progress':
        this.runs.set(data.tool_call_id, { startedAt: this.runs.get(data.tool_call_id)?.startedAt ?? null, progress: data });
        break;
      case 'tool.completed':
        this.want(data.message_id);
        break;
      case 'approval.created':
      case 'approval.resolved':
        void this.readApproval(data.approval_id);
        break;
    }
    this.changed();
  }

  // created makes a streaming row at once, so that its deltas have a place; others are read.
  private created(event: StreamEvent): void {
    const { message_id: id, role, turn_id, message_sequence: sequence } = event.data;
    if (role === 'assistant' && !this.messages.has(id)) {
      this.place(blank(this.id, id, turn_id, sequence, event.created_at ?? new Date().toISOString()));
      if (event.data.turn_id) return; // its step settles it
    }
    this.want(id);
  }

  private started(event: StreamEvent): void {
    const live = this.messages.get(event.data.message_id);
    if (live) live.replace({ ...live.message, model: event.data.model, step: event.data.step });
  }

  private settled(step: { error: Failure | null; messages: { message_id: ID; status: Message['status']; content: Message['content'] | null }[] }): void {
    for (const row of step.messages) {
      const live = this.messages.get(row.message_id);
      if (live && row.content) live.replace({ ...live.message, status: row.status, content: row.content, error: row.status === 'failed' ? step.error : null });
      this.want(row.message_id); // for usage and times
    }
  }

  private async readApproval(id: ID): Promise<void> {
    try {
      const approval = await request<Approval>(`/v1/approvals/${id}`);
      this.approvals = new Map(this.approvals).set(approval.tool_call_id, approval);
      this.changed();
    } catch {
      // read again by the next resync
    }
  }

  private async readSession(): Promise<void> {
    try {
      this.session = await request<Session>(`/v1/sessions/${this.id}`);
      this.changed();
    } catch {
      // the list is told by the workspace feed as well
    }
  }
}

function blank(session: ID, id: ID, turn: ID | null, sequence: number, at: string): Message {
  return {
    id, session_id: session, sequence, position: null, turn_id: turn, step: 0, role: 'assistant', status: 'streaming',
    author: { kind: 'agent', id: '', name: '' }, content: { text: '' } as Message['content'],
    tool_call_id: null, tool_name: null, covers_through: null, internal: false, steer: false, model: null, usage: null, error: null,
    metadata: {}, marks: { pinned: false, context_edge: false, set_aside: false }, created_at: at, updated_at: at,
  };
}
