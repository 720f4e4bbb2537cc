import { passes, Problem, request } from '../api/http';
import type { EventOf, MessageMarked, StepError, StepGenerated, StreamEvent } from '../api/events';
import type { Approval, ID, Message, Page, Session, Turn } from '../api/types';
import { type Activity, IDLE, type Summary, type ToolRun, type Warning } from './activity';
import { feed } from './feed';
import { LiveMessage } from './message';
import { type Read, sequenceOf, Stretch } from './stretch';

const RELOAD_MS = 2_000;
const PENDING = 200; // queued messages and open approvals read at most

// Target is what the view should scroll to: a message of the record, its end, or a note
// that the message does not exist.
export type Target = { kind: 'message'; sequence: number; offset?: number } | // offset: where the view had it, in pixels, instead of highlighted
  { kind: 'end' } | { kind: 'missing' };

// Reading is where a person reads: a message, and its distance from the top of the view in pixels.
export interface Reading {
  sequence: number;
  offset: number;
}

// Transcript is the page's copy of one session's record: a snapshot with its event
// sequence, and every event after it. It shows a stretch of the record: the end, unless
// goTo chose another one.
export class Transcript {
  readonly messages = new Map<ID, LiveMessage>();
  queue: LiveMessage[] = []; // waiting to enter it
  approvals = new Map<string, Approval>(); // by tool call
  runs = new Map<string, ToolRun>(); // by tool call
  activity: Activity = IDLE;
  warning: Warning | null = null;
  summary: Summary | null = null;
  events: StreamEvent[] = []; // since the snapshot, for the inspector
  session: Session | null = null;
  target: Target | null = null; // a new one per goTo
  reading: Reading | null = null; // the message in view away from the end, set by the view
  state: 'loading' | 'ready' | 'failed' = 'loading';
  error: unknown = null;

  private version = 0;
  private listeners = new Set<() => void>();
  private unwatch: (() => void) | null = null;
  private ending = 0;
  private rereads = 0;
  private asked: string | undefined; // the message around which the last load happened
  private readonly stretch: Stretch;
  private held: StreamEvent[] | null = null; // events that arrive while another stretch is read
  private wanted = new Set<ID>(); // messages to read
  private heard = 0; // counts requests and events, to recognise late responses
  private known = new Map<ID, number>(); // per message read by itself, the count at its latest version
  private planned: ReturnType<typeof setTimeout> | undefined; // reading of the wanted messages
  private again: ReturnType<typeof setTimeout> | undefined; // the next attempt to load

  constructor(readonly id: ID) {
    this.stretch = new Stretch(id, (message) => this.keep(message));
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  snapshot = (): number => this.version;

  // order is the loaded part of the record, by sequence.
  get order(): LiveMessage[] {
    return this.stretch.order;
  }

  // older and newer report whether there are messages before the first and after the last one.
  get older(): boolean {
    return this.stretch.older;
  }

  get newer(): boolean {
    return this.stretch.newer;
  }

  // open reads the end of the record, or the surroundings of a message (by its id or
  // sequence), and follows the session; close ends that.
  open(at?: string, offset?: number): void {
    void this.load(at, true, offset);
  }

  close(): void {
    this.ending++;
    this.unwatch?.();
    this.unwatch = null;
    clearTimeout(this.planned);
    clearTimeout(this.again);
    this.planned = undefined;
  }

  private async load(at?: string, aims = true, offset?: number): Promise<void> {
    const run = ++this.ending;
    this.asked = at;
    this.unwatch?.();
    this.unwatch = null;
    this.held = null;
    const path = `/v1/sessions/${this.id}`;
    try {
      // The session first: everything after its event sequence arrives as events.
      const session = await request<Session>(path);
      const [tail, part, queued, approvals] = await Promise.all([
        this.stretch.tail(),
        at === undefined ? null : this.partAt(at),
        request<Page<Message>>(`${path}/messages`, { query: { status: 'queued', limit: PENDING } }),
        request<Page<Approval>>(`${path}/approvals`, { query: { status: 'pending', limit: PENDING } }),
      ]);
      const last = session.status === 'failed' || session.status === 'cancelled' ? await this.lastTurn() : null;
      if (run !== this.ending) return;
      this.messages.clear();
      this.stretch.take(tail); // always: it contains streaming messages
      if (part?.read) this.stretch.take(part.read);
      if (part && aims) this.target = part.target.kind === 'message' && offset !== undefined ? { ...part.target, offset } : part.target;
      this.queue = queued.data.map((message) => this.keep(message));
      this.approvals = new Map(approvals.data.map((approval) => [approval.tool_call_id, approval]));
      this.session = session;
      this.activity = {
        ...IDLE,
        running: session.status === 'running' || session.status === 'waiting',
        turn: session.turn_id,
        since: Date.now(),
        wait: session.wait_reason,
        failure: last?.error ?? null,
        ended: last?.id ?? null,
      };
      this.state = 'ready';
      // For a running turn the last event is replayed: only the event says that a retry
      // follows soon.
      const behind = this.activity.running ? Math.max(0, session.last_event_sequence - 1) : session.last_event_sequence;
      this.unwatch = feed.watch(this.id, behind, (event) => this.apply(event));
    } catch (error) {
      if (run !== this.ending) return;
      if (this.state === 'ready') {
        this.again = setTimeout(() => void this.load(at, aims, offset), RELOAD_MS); // shows the old state until the server is back
        return;
      }
      this.state = 'failed';
      this.error = error;
      if (passes(error)) this.again = setTimeout(() => void this.load(at, aims, offset), RELOAD_MS);
    }
    this.changed();
  }

  retry(): void {
    this.state = 'loading';
    this.changed();
    void this.load(this.asked);
  }

  // partAt reads the surroundings of a message.
  private async partAt(at: string): Promise<{ read: Read | null; target: Target }> {
    const sequence = await sequenceOf(at);
    const read = sequence === null ? null : await this.stretch.around(sequence);
    const there = read?.messages.some((message) => message.sequence === sequence && (message.id === at || /^\d+$/.test(at)));
    return there ? { read, target: { kind: 'message', sequence: sequence! } } : { read: null, target: { kind: 'missing' } };
  }

  // goTo scrolls to a message, named by its id or its sequence, anywhere in the record: the
  // view scrolls to target and highlights it.
  async goTo(at: string): Promise<void> {
    if (this.state !== 'ready') return this.load(at);
    const shown = this.order.find(({ message }) => message.id === at || String(message.sequence) === at);
    if (shown) this.aim({ kind: 'message', sequence: shown.message.sequence! });
    else await this.reread(() => this.partAt(at));
  }

  // goToEnd scrolls to the end of the record.
  async goToEnd(): Promise<void> {
    if (!this.newer) this.aim({ kind: 'end' });
    else await this.reread(async () => ({ read: await this.stretch.tail(), target: { kind: 'end' } }));
  }

  private aim(target: Target): void {
    this.target = target;
    this.changed();
  }

  // reread shows another stretch. Events that arrive meanwhile are applied to it: they may
  // be newer than what was read.
  private async reread(read: () => Promise<{ read: Read | null; target: Target }>): Promise<void> {
    const run = ++this.rereads;
    const ending = this.ending;
    this.held ??= [];
    try {
      const part = await read();
      if (run !== this.rereads || ending !== this.ending) return;
      if (part.read) this.stretch.take(part.read);
      this.aim(part.target);
    } catch {
      // offline: the old state stays, and the banner says so
    } finally {
      if (run === this.rereads && ending === this.ending) {
        const held = this.held ?? [];
        this.held = null;
        for (const event of held) this.apply(event);
      }
    }
  }

  // loadOlder reads the page before the first message, loadNewer the one after the last.
  async loadOlder(): Promise<void> {
    if (await this.stretch.loadOlder()) this.changed();
  }

  async loadNewer(): Promise<void> {
    if (await this.stretch.loadNewer()) this.changed();
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

  // place moves a message to its current position.
  place(message: Message): void {
    const live = this.keep(message);
    this.queue = this.queue.filter((one) => one !== live);
    if (message.sequence === null) {
      if (message.status === 'queued') {
        this.queue = [...this.queue, live].sort((a, b) => (a.message.position ?? 0) - (b.message.position ?? 0));
      }
    } else {
      this.stretch.place(live);
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
    const asked = ++this.heard;
    await Promise.all(
      ids.map(async (id) => {
        try {
          const message = await request<Message>(`/v1/messages/${id}`);
          if (run !== this.ending || (this.known.get(id) ?? 0) > asked) return; // something newer is known since
          this.known.set(id, asked);
          this.place(message);
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
    if (this.held) {
      this.held.push(event);
      return;
    }
    if (event.type === 'step.generating') {
      const delta = event.data;
      const live = this.messages.get(delta.message_id);
      if (!live) return;
      const silent = live.silent;
      if (!live.append(delta)) this.want(delta.message_id);
      if (silent && !live.silent) this.changed(); // its row begins with its first word
      return;
    }
    if (event.type === 'object.patch') {
      this.messages.get(event.data.message_id)?.patch(event.data.patch);
      return;
    }
    if (event.sequence) this.events = [...this.events.slice(-999), event];
    switch (event.type) {
      case 'resync':
        void this.load(this.reading === null ? undefined : String(this.reading.sequence), false);
        return;
      case 'message.created':
        this.created(event);
        break;
      case 'message.queued':
        this.want(event.data.message_id);
        break;
      case 'message.marked':
        this.marked(event.data); // shared messages have marks of their own in a fork, which only the event contains
        break;
      case 'message.removed':
        this.known.set(event.data.message_id, ++this.heard);
        this.queue = this.queue.filter((live) => live.message.id !== event.data.message_id);
        break;
      case 'session.started':
        this.act({ running: true, turn: event.data.turn_id, since: Date.now(), wait: null, sentence: '', retry: null, failure: null, ended: null, queued: false });
        break;
      case 'session.waiting':
        this.act({ running: true, wait: event.data.reason, sentence: event.data.sentence ?? '', retry: null });
        break;
      case 'session.completed':
      case 'session.failed':
      case 'session.cancelled':
        if (!this.activity.turn || this.activity.turn === event.data.turn_id) {
          const completed = event.type === 'session.completed';
          this.activity = { ...IDLE, failure: event.data.turn.error, ended: completed ? null : event.data.turn_id };
        } // else a queued turn was removed
        void this.readSession();
        break;
      case 'context.cleared':
        void this.readSession();
        break;
      case 'session.updated':
        this.session = event.data.session;
        break;
      case 'session.deleted':
        this.gone();
        return;
      case 'compaction.started':
        this.summary = { state: 'running', sentence: '' };
        break;
      case 'compaction.completed':
        this.summary = event.data.queued ? { state: 'waits', sentence: '' } : null;
        void this.readSession();
        break;
      case 'compaction.failed':
        this.summary = { state: event.data.again ? 'running' : 'failed', sentence: event.data.error.sentence };
        break;
      case 'limit.warning':
        this.warning = { limit: event.data.limit, share: event.data.share };
        break;
      case 'step.started':
        this.act({ running: true, queued: false, since: Date.now(), step: event.data.step, wait: null, retry: null });
        this.started(event);
        break;
      case 'step.retrying':
        this.act({ retry: { attempt: event.data.attempt, class: event.data.class, until: Date.parse(event.created_at) + event.data.wait_ms } });
        break;
      case 'step.generated':
      case 'step.error':
        this.settled(event.data);
        break;
      case 'tool.started':
        this.runs.set(event.data.tool_call_id, { startedAt: Date.parse(event.created_at), progress: null });
        break;
      case 'tool.progress':
        this.runs.set(event.data.tool_call_id, { startedAt: this.runs.get(event.data.tool_call_id)?.startedAt ?? null, progress: event.data });
        break;
      case 'tool.completed':
        this.want(event.data.message_id);
        break;
      case 'approval.created':
      case 'approval.approved':
      case 'approval.resolved':
        void this.readApproval(event.data.approval_id);
        break;
    }
    this.changed();
  }

  // created makes a streaming row immediately, for its deltas; other messages are read, and calls, which have a name.
  private created(event: EventOf<'message.created'>): void {
    const { message_id: id, role, turn_id, message_sequence: sequence } = event.data;
    if (role === 'summary' && this.summary?.state === 'waits') this.summary = null;
    if ((role === 'assistant' || (role === 'tool_call' && turn_id)) && !this.messages.has(id)) {
      this.place(blank(this.id, id, turn_id, role, sequence, event.created_at));
      if (role === 'assistant' && turn_id) return; // its step settles it
    }
    if (role === 'user' && turn_id && !this.activity.running) this.act({ running: true, queued: true, turn: turn_id, since: Date.now(), failure: null, ended: null });
    this.want(id);
  }

  private marked({ message_id, marks }: MessageMarked): void {
    const live = this.messages.get(message_id);
    if (live) live.replace({ ...live.message, marks });
    else this.want(message_id);
  }

  private gone(): void {
    this.close();
    this.state = 'failed';
    this.session = null;
    this.error = new Problem(404, 'deleted', 'This conversation was deleted.', '', '', null);
    this.changed();
  }

  private started(event: EventOf<'step.started'>): void {
    const live = this.messages.get(event.data.message_id);
    if (live) live.replace({ ...live.message, model: event.data.model, step: event.data.step });
  }

  private settled(step: StepGenerated | StepError): void {
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

  // became takes the session that the server returned after a change.
  became(session: Session): void {
    this.session = session;
    this.changed();
  }

  // dismiss hides the notice about a failed summary.
  dismiss(): void {
    this.summary = null;
    this.changed();
  }

  private async lastTurn(): Promise<Turn | null> {
    const page = await request<Page<Turn>>(`/v1/sessions/${this.id}/turns`, { query: { limit: 1 } });
    return page.data[0] ?? null;
  }

  private async readSession(): Promise<void> {
    try {
      this.became(await request<Session>(`/v1/sessions/${this.id}`));
    } catch {
      // the workspace feed updates the list as well
    }
  }
}

function blank(session: ID, id: ID, turn: ID | null, role: Message['role'], sequence: number, at: string): Message {
  return {
    id, session_id: session, sequence, position: null, turn_id: turn, step: 0, role, status: 'streaming',
    author: { kind: 'agent', id: '', name: '' }, content: { parts: [], text: '' } as unknown as Message['content'],
    agent_type: null, chain_version: null, content_hash: null, context_note: null, iteration: null, log_id: session, token_estimate: null,
    workspace_id: '', tool_call_id: null, tool_name: null, covers_through: null, internal: false, steer: false, model: null, usage: null, error: null,
    metadata: {}, marks: { pinned: false, context_edge: false, set_aside: false }, created_at: at, updated_at: at,
  };
}
