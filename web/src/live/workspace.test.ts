import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { afterEach, expect, test, vi } from 'vitest';
import { request } from '../api/http';
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
