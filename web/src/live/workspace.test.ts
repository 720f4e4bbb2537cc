import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { afterEach, expect, test, vi } from 'vitest';
import { request } from '../api/http';
import type { StreamEvent } from '../api/events';
import { feed } from './feed';
import { followWorkspace } from './workspace';

afterEach(() => vi.unstubAllGlobals());

test('while nobody is signed in, the principal is not fetched again: the sign-in form stays', async () => {
  vi.stubGlobal('fetch', () => Promise.resolve(new Response('{"code":"unauthorized","detail":"A key is wanted."}', { status: 401 })));
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  followWorkspace(queries);
  const seen: string[] = [];
  const observer = new QueryObserver(queries, { queryKey: ['principal'], queryFn: () => request('/v1/principal') });
  const end = observer.subscribe(({ status }) => seen.push(status));
  await vi.waitFor(() => expect(seen.at(-1)).toBe('error'));
  for (let n = 0; n < 3; n++) await request('/v1/sessions').catch(() => undefined);
  expect(queries.isFetching()).toBe(0);
  expect(seen.slice(seen.indexOf('error'))).toEqual(['error']);
  end();
});

test('a delegation makes the teams of its agents old, and no others', async () => {
  let tell: (event: StreamEvent) => void = () => {};
  vi.spyOn(feed, 'onWorkspace').mockImplementation((listener) => ((tell = listener), () => {}));
  const queries = new QueryClient();
  followWorkspace(queries);
  const team = (session: string) => ({ members: [{ background: null }, { background: { session_id: session } }] });
  queries.setQueryData(['team', 'a'], team('one'));
  queries.setQueryData(['team', 'b'], team('two'));
  queries.setQueryData(['inbox', 'unread'], []);
  tell({ type: 'delegation.sent', session_id: 'one', data: { from_session_id: 'one', to_session_id: null } } as unknown as StreamEvent);
  const old = (...key: string[]) => queries.getQueryState(key)?.isInvalidated;
  await vi.waitFor(() => expect(old('team', 'a')).toBe(true));
  expect([old('team', 'b'), old('inbox', 'unread')]).toEqual([false, false]);
  tell({ type: 'inbox.created', data: { item: {} } } as unknown as StreamEvent);
  await vi.waitFor(() => expect(old('inbox', 'unread')).toBe(true));
});

test('knowledge is old when an item changed, or its sources may be read by others', async () => {
  let tell: (event: StreamEvent) => void = () => {};
  vi.spyOn(feed, 'onWorkspace').mockImplementation((listener) => ((tell = listener), () => {}));
  const queries = new QueryClient();
  followWorkspace(queries);
  const key = ['knowledge', { team: 'a' }];
  for (const type of ['knowledge.created', 'knowledge.updated', 'session.deleted', 'resync']) {
    queries.setQueryData(key, []);
    expect(queries.getQueryState(key)?.isInvalidated).toBe(false);
    tell({ type, session_id: null, data: {} } as unknown as StreamEvent);
    await vi.waitFor(() => expect(queries.getQueryState(key)?.isInvalidated, type).toBe(true));
  }
});
