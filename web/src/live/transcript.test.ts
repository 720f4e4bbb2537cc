// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { PatchOperation, StreamEvent } from '../api/events';
import type { Message } from '../api/types';
import { rowsOf } from '../chat/rows';
import { feed } from './feed';
import { Transcript } from './transcript';

const SESSION = { id: 's', status: 'running', wait_reason: null, last_event_sequence: 2, title: 'Title' };

let tell: (event: StreamEvent) => void = () => undefined;
let watched: { session: string; after: number } | null = null;
let answers: Record<string, unknown> = {};

function message(id: string, sequence: number, role: Message['role'], fields: Partial<Message> = {}): Message {
  return {
    id, session_id: 's', sequence, position: null, turn_id: 't', step: 1, role, status: 'completed', author: { kind: 'person', id: '', name: '' },
    content: { text: `text of ${id}` } as Message['content'], agent_type: null, chain_version: null, content_hash: null, context_note: null,
    iteration: null, log_id: 's', token_estimate: null, workspace_id: 'w', tool_call_id: null, tool_name: null, covers_through: null, internal: false, steer: false,
    model: null, usage: null, error: null, metadata: {}, marks: { pinned: false, context_edge: false, set_aside: false }, created_at: '', updated_at: '', ...fields,
  };
}

beforeEach(() => {
  answers = {
    '/v1/sessions/s': SESSION,
    '/v1/sessions/s/messages?order=desc&limit=60': { data: [message('m1', 1, 'user')], next: null },
    '/v1/sessions/s/messages?status=queued&limit=200': { data: [], next: null },
    '/v1/sessions/s/approvals?status=pending&limit=200': { data: [], next: null },
  };
  vi.stubGlobal('fetch', async (path: string) => {
    const answer = answers[path];
    return new Response(JSON.stringify(answer ?? { detail: `no ${path}` }), { status: answer ? 200 : 404 });
  });
  vi.spyOn(feed, 'watch').mockImplementation((session, after, listener) => {
    watched = { session, after };
    tell = listener;
    return () => (watched = null);
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

async function opened(): Promise<Transcript> {
  const transcript = new Transcript('s');
  transcript.open();
  await vi.waitFor(() => expect(transcript.state).toBe('ready'));
  return transcript;
}

const event = (sequence: number, type: StreamEvent['type'], data: unknown) => ({ session_id: 's', sequence, type, created_at: '2026-01-01T00:00:00Z', data }) as StreamEvent;
const delta = (offset: number, text: string): StreamEvent => ({ session_id: 's', type: 'step.generating', data: { message_id: 'm2', kind: 'text', offset, end: offset + text.length, delta: text } });
const begins = () => {
  tell(event(3, 'step.started', { turn_id: 't', step: 1, call_id: 'c', message_id: 'm2', attempt: 1, model: 'sim/echo' }));
  tell(event(4, 'message.created', { message_id: 'm2', turn_id: 't', role: 'assistant', message_sequence: 2 }));
};

test('the session is followed from the event at which it was read, including the last one of a running turn', async () => {
  await opened();
  expect(watched).toEqual({ session: 's', after: 1 });
  answers['/v1/sessions/s'] = { ...SESSION, status: 'completed' };
  await opened();
  expect(watched).toEqual({ session: 's', after: 2 });
});

test('an answer has its row from its first word on, and ends as its settle says', async () => {
  const transcript = await opened();
  begins();
  expect(rowsOf(transcript)).toHaveLength(1);
  const before = transcript.snapshot();
  tell(delta(0, 'Hel'));
  expect(transcript.snapshot()).toBeGreaterThan(before);
  expect(rowsOf(transcript)).toHaveLength(2);
  tell(delta(3, 'lo'));
  expect(transcript.messages.get('m2')!.text('text')).toBe('Hello');
  tell(event(5, 'step.generated', { turn_id: 't', step: 1, error: null, messages: [{ message_id: 'm2', role: 'assistant', status: 'completed', end: 6, content: { text: 'Hello!' } }] }));
  tell(delta(5, ' late'));
  expect(transcript.messages.get('m2')!.text('text')).toBe('Hello!');
});

test('a delta that starts over replaces the text, a known one changes nothing', async () => {
  const transcript = await opened();
  begins();
  tell(delta(0, 'Hello'));
  tell(delta(0, 'Hello wor'));
  tell(delta(5, ' wor'));
  tell(delta(9, 'ld'));
  expect(transcript.messages.get('m2')!.text('text')).toBe('Hello world');
});

test('after a lost delta no text is misplaced: it is requested, and complete from the next beginning', async () => {
  const transcript = await opened();
  const asked: string[] = [];
  const fetched = fetch;
  vi.stubGlobal('fetch', (path: string) => {
    asked.push(path);
    return fetched(path);
  });
  begins();
  tell(delta(0, 'All '));
  tell(delta(7, 'well')); // the text in between is lost
  const live = transcript.messages.get('m2')!;
  expect(live.text('text')).toBe('All ');
  await vi.waitFor(() => expect(asked).toContain('/v1/messages/m2'));
  tell(delta(11, ' here'));
  expect(live.text('text')).toBe('All ');
  tell(delta(0, 'All is well here'));
  tell(delta(16, '.'));
  expect(live.text('text')).toBe('All is well here.');
  tell(delta(30, 'lost'));
  tell(event(5, 'step.generated', { turn_id: 't', step: 1, error: null, messages: [{ message_id: 'm2', role: 'assistant', status: 'completed', end: 25, content: { text: 'All is well here. The end.' } }] }));
  expect(live.text('text')).toBe('All is well here. The end.');
});

test('messages are ordered by sequence, whatever order they arrive in', async () => {
  const transcript = await opened();
  transcript.place(message('m4', 4, 'user'));
  transcript.place(message('m3', 3, 'assistant'));
  expect(transcript.order.map((live) => live.message.id)).toEqual(['m1', 'm3', 'm4']);
});

test('a removed message stays away, even if it was being read', async () => {
  const transcript = await opened();
  const queued = { ...message('q', 0, 'user'), sequence: null, position: 1, status: 'queued' as const };
  let answer = () => {};
  vi.stubGlobal('fetch', () => new Promise((resolve) => (answer = () => resolve(new Response(JSON.stringify(queued))))));
  tell(event(3, 'message.queued', { message_id: 'q' }));
  await vi.waitFor(() => {
    answer();
    expect(transcript.queue).toHaveLength(1);
  });
  answer = () => {};
  tell(event(4, 'message.queued', { message_id: 'q' })); // it was changed
  const idle = answer;
  await vi.waitFor(() => expect(answer).not.toBe(idle));
  tell(event(5, 'message.removed', { message_id: 'q' }));
  answer();
  await new Promise((resolve) => setTimeout(resolve));
  expect(transcript.queue).toHaveLength(0);
});

test('a queued message leaves the queue when it enters the record', async () => {
  const transcript = await opened();
  transcript.place({ ...message('q', 0, 'user'), sequence: null, position: 1, status: 'queued' });
  expect(transcript.queue).toHaveLength(1);
  transcript.place(message('q', 2, 'user'));
  expect(transcript.queue).toHaveLength(0);
  expect(transcript.order.map((live) => live.message.id)).toEqual(['m1', 'q']);
});

test('consecutive calls of a turn are one row, with their results', async () => {
  const transcript = await opened();
  for (const [n, role] of [[2, 'tool_call'], [3, 'tool_call'], [4, 'tool_result'], [5, 'tool_result']] as const) {
    transcript.place(message(`m${n}`, n, role, { tool_call_id: n % 2 === 0 ? 'a' : 'b', tool_name: 'x' }));
  }
  const rows = rowsOf(transcript);
  expect(rows).toHaveLength(2);
  expect(rows[1]).toMatchObject({ kind: 'tools' });
  expect(rows[1]!.kind === 'tools' && rows[1]!.calls.map((call) => call.result?.message.id)).toEqual(['m4', 'm5']);
});

const long = (path: string) => {
  const url = new URL(path, 'http://x');
  const from = Number(url.searchParams.get('from_sequence'));
  if (url.pathname === '/v1/messages/m200') return message('m200', 200, 'user');
  if (url.pathname !== '/v1/sessions/s/messages' || url.searchParams.has('status')) return answers[path];
  const all = Array.from({ length: 400 }, (_, i) => message(`m${i + 1}`, i + 1, 'user'));
  if (url.searchParams.get('order') === 'desc') {
    const data = all.slice(0, from || 400).reverse().slice(0, 60);
    return { data, next: data.at(-1)!.sequence === 1 ? null : 'older' };
  }
  const data = all.slice(from - 1, from + 59);
  return { data, next: data.at(-1)?.sequence === 400 ? null : 'newer' };
};
const sequences = (transcript: Transcript) => [transcript.order[0]!.message.sequence, transcript.order.at(-1)!.message.sequence, transcript.order.length];

test('a message far up is opened without those in between, and more is read after it up to the end', async () => {
  vi.stubGlobal('fetch', async (path: string) => new Response(JSON.stringify(long(path) ?? null), { status: long(path) ? 200 : 404 }));
  const transcript = await opened();
  expect(sequences(transcript)).toEqual([341, 400, 60]);
  await transcript.goTo('m200');
  expect(sequences(transcript)).toEqual([141, 260, 120]);
  expect(transcript.target).toEqual({ kind: 'message', sequence: 200 });
  expect([transcript.older, transcript.newer]).toEqual([true, true]);
  transcript.place(message('m401', 401, 'user')); // new messages are not shown in the middle
  expect(sequences(transcript)).toEqual([141, 260, 120]);
  await transcript.loadNewer();
  await transcript.loadNewer();
  expect(sequences(transcript)).toEqual([141, 380, 240]);
  await transcript.loadNewer();
  expect(sequences(transcript)).toEqual([141, 400, 260]);
  expect(transcript.newer).toBe(true); // 401 arrived meanwhile
  await transcript.goToEnd();
  expect(transcript.target).toEqual({ kind: 'end' });
  expect(transcript.order.at(-1)!.message.sequence).toBe(400);
});

test('rows that arrive while older ones are read appear once, each in its place', async () => {
  const rows = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => message(`m${from + i}`, from + i, 'user')).reverse();
  answers['/v1/sessions/s/messages?order=desc&limit=60'] = { data: rows(61, 120), next: 'older' };
  const transcript = await opened();
  let answer = () => {};
  vi.stubGlobal('fetch', () => new Promise((resolve) => (answer = () => resolve(new Response(JSON.stringify({ data: rows(1, 60), next: null }))))));
  const read = transcript.loadOlder();
  transcript.place(message('m121', 121, 'user')); // said meanwhile
  transcript.place(message('m30', 30, 'user')); // of the page that is read
  transcript.place(message('m61', 61, 'user')); // shown already
  expect(transcript.order.map((live) => live.message.sequence)).toEqual(Array.from({ length: 61 }, (_, i) => 61 + i));
  answer();
  await read;
  expect(transcript.order.map((live) => live.message.sequence)).toEqual(Array.from({ length: 121 }, (_, i) => 1 + i));
  expect(transcript.older).toBe(false);
});

test('events during the reading of another part are applied to it', async () => {
  vi.stubGlobal('fetch', async (path: string) => new Response(JSON.stringify(long(path) ?? null), { status: long(path) ? 200 : 404 }));
  const transcript = await opened();
  const there = transcript.goTo('200');
  tell(event(3, 'session.started', { turn_id: 't2', attempt: 1 }));
  expect(transcript.activity.turn).not.toBe('t2');
  await there;
  expect(transcript.activity.turn).toBe('t2');
});

test('another attempt after a failure opens the same message', async () => {
  vi.stubGlobal('fetch', async () => {
    throw new TypeError('offline');
  });
  const transcript = new Transcript('s');
  transcript.open('m200');
  await vi.waitFor(() => expect(transcript.state).toBe('failed'));
  vi.stubGlobal('fetch', async (path: string) => new Response(JSON.stringify(long(path) ?? null), { status: long(path) ? 200 : 404 }));
  transcript.retry();
  await vi.waitFor(() => expect(transcript.state).toBe('ready'));
  expect(transcript.target).toEqual({ kind: 'message', sequence: 200 });
});

test('the view says that a message does not exist, and shows the end', async () => {
  const transcript = new Transcript('s');
  transcript.open('gone');
  await vi.waitFor(() => expect(transcript.state).toBe('ready'));
  expect(transcript.target).toEqual({ kind: 'missing' });
  expect(transcript.order).toHaveLength(1);
});

test('internal messages are not shown', async () => {
  const transcript = await opened();
  transcript.place(message('m2', 2, 'user', { internal: true }));
  expect(rowsOf(transcript)).toHaveLength(1);
});

test('a retry is shown, and gone with the next attempt', async () => {
  const transcript = await opened();
  begins();
  tell(event(5, 'step.retrying', { turn_id: 't', step: 1, attempt: 2, class: 'rate_limit', wait_ms: 4000 }));
  expect(transcript.activity.retry).toMatchObject({ attempt: 2, class: 'rate_limit' });
  tell(event(6, 'step.started', { turn_id: 't', step: 1, call_id: 'c2', message_id: 'm2', attempt: 2, model: 'sim/echo' }));
  expect(transcript.activity.retry).toBeNull();
});

test('the end of a queued turn is not the end of the running one', async () => {
  const transcript = await opened();
  tell(event(3, 'session.started', { turn_id: 't', attempt: 1 }));
  tell(event(4, 'session.cancelled', { turn_id: 'queued', turn: { error: null } }));
  expect(transcript.activity.running).toBe(true);
  tell(event(5, 'session.cancelled', { turn_id: 't', turn: { error: null } }));
  expect(transcript.activity.running).toBe(false);
});

test('marks come with their event: a shared message has other marks in the session that wrote it', async () => {
  const transcript = await opened();
  tell(event(3, 'message.marked', { message_id: 'm1', marks: { pinned: true, context_edge: false, set_aside: false } }));
  expect(transcript.order[0]!.message.marks.pinned).toBe(true);
});

test('a turn that failed without text, or was stopped, can be retried until the next one begins', async () => {
  const transcript = await opened();
  const failure = { class: 'limit', sentence: 'Enough.', detail: null, attempts: null, retry_at: null };
  tell(event(3, 'session.failed', { turn_id: 't1', turn: { error: failure } }));
  expect(transcript.activity).toMatchObject({ running: false, ended: 't1', failure });
  tell(event(4, 'session.started', { turn_id: 't2', attempt: 1 }));
  expect(transcript.activity).toMatchObject({ running: true, ended: null, failure: null });
  tell(event(5, 'session.cancelled', { turn_id: 't2', turn: { error: null } }));
  expect(transcript.activity).toMatchObject({ running: false, ended: 't2', failure: null });
});

test('a summary is reported from its beginning until it enters the record', async () => {
  const transcript = await opened();
  tell(event(3, 'compaction.started', {}));
  expect(transcript.summary?.state).toBe('running');
  tell(event(4, 'compaction.completed', { queued: true }));
  expect(transcript.summary?.state).toBe('waits');
  tell(event(5, 'message.created', { message_id: 'm9', role: 'summary', turn_id: null, message_sequence: 9 }));
  expect(transcript.summary).toBeNull();
  tell(event(6, 'compaction.failed', { again: false, error: { sentence: 'No.' } }));
  expect(transcript.summary).toEqual({ state: 'failed', sentence: 'No.' });
  transcript.dismiss();
  expect(transcript.summary).toBeNull();
});

test('a call grows from its first piece on, and is read for its name', async () => {
  const transcript = await opened();
  answers['/v1/messages/m3'] = message('m3', 3, 'tool_call', { status: 'streaming', tool_name: 'write_artifact', content: { arguments_text: '' } as unknown as Message['content'] });
  tell(event(3, 'message.created', { message_id: 'm3', turn_id: 't', role: 'tool_call', message_sequence: 3 }));
  const piece = (offset: number, text: string) => tell({ session_id: 's', type: 'step.generating', data: { message_id: 'm3', kind: 'arguments', offset, end: offset + text.length, delta: text } });
  piece(0, '{"na');
  await vi.waitFor(() => expect(transcript.messages.get('m3')!.message.tool_name).toBe('write_artifact'));
  piece(4, 'me":');
  expect(transcript.messages.get('m3')!.text('arguments')).toBe('{"name":');
});

test('an object grows by patches; one that does not apply drops it until the next whole one', async () => {
  const transcript = await opened();
  begins();
  const patch = (...operations: PatchOperation[]) => tell({ session_id: 's', type: 'object.patch', data: { message_id: 'm2', patch: operations } });
  patch({ op: 'replace', path: '', value: { kept: { a: 1 }, city: 'Bo' } });
  const live = transcript.messages.get('m2')!;
  const before = live.object as { kept: object };
  patch({ op: 'append', path: '/city', value: 'nn' });
  expect(live.object).toEqual({ kept: { a: 1 }, city: 'Bonn' });
  expect((live.object as typeof before).kept).toBe(before.kept);
  patch({ op: 'append', path: '/none/at', value: '!' });
  expect(live.object).toBeNull();
  patch({ op: 'replace', path: '', value: { city: 'Bonn' } });
  expect(live.object).toEqual({ city: 'Bonn' });
  tell(event(5, 'step.generated', { turn_id: 't', step: 1, error: null, messages: [{ message_id: 'm2', role: 'assistant', status: 'completed', end: 6, content: { text: '{}' } }] }));
  expect(live.object).toBeNull();
});
