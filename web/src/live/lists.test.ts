import { QueryClient } from '@tanstack/react-query';
import { expect, test, vi } from 'vitest';
import type { Page, Session } from '../api/types';
import { begun, changed, refreshLists, type SessionPages } from './lists';

const session = (name: string, at: number) => ({ id: name, updated_at: `2026-01-01T00:00:${String(at).padStart(2, '0')}.000Z` }) as Session;
const page = (next: string | null, ...data: Session[]): Page<Session> => ({ data, next });
const ids = (list: SessionPages | null) => list?.pages.map((one) => one.data.map(({ id }) => id).join('')).join(' ');

const A = session('a', 50), B = session('b', 40), C = session('c', 30), D = session('d', 20), E = session('e', 10);
const known: SessionPages = { pages: [page('2', A, B), page('3', C, D), page('4', E)], pageParams: [null, '2', '3'] };

test('a session that moved to the beginning is there, and the rest is unchanged', () => {
  const list = begun(known, page('1', session('d', 55), A))!;
  expect(ids(list)).toBe('da bc e');
  expect(list.pages.at(-1)!.next).toBe('4');
});

test('a new one pushes another past the first page, not out of the list', () => {
  expect(ids(begun(known, page('1', session('n', 60), A)))).toBe('na bc de');
});

test('one that belongs on the first page but is missing there is gone', () => {
  expect(ids(begun(known, page('1', A, C)))).toBe('ac de');
});

test('pages that do not meet are not joined', () => {
  expect(begun(known, page('1', session('x', 70), session('y', 60)))).toBeNull();
  expect(begun(known, page('1', session('d', 70), session('e', 60)))).toBeNull();
});

test('a list that fits on its first page is that page', () => {
  expect(ids(begun(known, page(null, A)))).toBe('a');
});

test('a changed session leaves every other row and page unchanged', () => {
  const list = changed(known, 'c', (was) => ({ ...was, title: 'New' }));
  expect(list.pages[1]!.data[0]!.title).toBe('New');
  expect(list.pages[0]).toBe(known.pages[0]);
  expect(list.pages[1]!.data[1]).toBe(D);
  expect(changed(known, 'z', () => null)).toBe(known);
  expect(ids(changed(known, 'a', () => null))).toBe('b cd e');
});

test('one page of a visible long list is fetched again, or all of it if that page does not fit', async () => {
  const queries = new QueryClient();
  const whole = vi.fn(async ({ pageParam }) => known.pages[['', '2', '3'].indexOf(pageParam ?? '')]!);
  const options = { queryKey: ['sessions', {}], queryFn: whole, initialPageParam: null, getNextPageParam: (last: Page<Session>) => last.next, pages: 3 };
  await queries.fetchInfiniteQuery(options);
  const { InfiniteQueryObserver } = await import('@tanstack/react-query');
  const end = new InfiniteQueryObserver(queries, { ...options, staleTime: Infinity }).subscribe(() => undefined);
  expect(whole).toHaveBeenCalledTimes(3);
  await refreshLists(queries, async () => page('1', session('d', 55), A));
  expect(ids(queries.getQueryData(['sessions', {}])!)).toBe('da bc e');
  expect(whole).toHaveBeenCalledTimes(3);
  await refreshLists(queries, async () => page('1', session('x', 70), session('y', 60)));
  expect(whole.mock.calls.length).toBeGreaterThan(3);
  end();
  queries.clear();
});
