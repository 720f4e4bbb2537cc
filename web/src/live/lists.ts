import type { InfiniteData, QueryClient } from '@tanstack/react-query';
import type { SessionFilter } from '../api/queries';
import type { ID, Page, Session } from '../api/types';

// Lists of sessions, newest activity first, of which a person may have read many pages.
// A session only ever moves to the beginning, so only that is fetched again.

export type SessionPages = InfiniteData<Page<Session>, string | null>;

// begun is a list with its current first page, and the pages read after it. It is null
// if something in between is unknown: then the list must be read again.
export function begun(list: SessionPages, first: Page<Session>): SessionPages | null {
  const last = first.data.at(-1);
  if (first.next === null || !last) return { pages: [first], pageParams: [null] };
  const known = list.pages.flatMap((page) => page.data);
  const at = known.findIndex((session) => session.id === last.id);
  if (at < 0 || known[at]!.updated_at !== last.updated_at) return null; // the pages do not meet
  const shown = new Set(first.data.map((session) => session.id));
  // A session that was before this point but is no longer on the first page is gone.
  const rest = known.slice(at + 1).filter((session) => !shown.has(session.id));
  // In pages again, so that a full refetch reads as much. Only the last page's cursor is
  // ever used.
  const { next } = list.pages.at(-1)!;
  const pages = [first];
  for (let from = 0; from < rest.length; from += first.data.length) pages.push({ data: rest.slice(from, from + first.data.length), next });
  return { pages, pageParams: [null, ...pages.slice(1).map(() => next)] };
}

// changed is a list with one session updated or removed.
export function changed(list: SessionPages, id: ID, now: (session: Session) => Session | null): SessionPages {
  const pages = list.pages.map((page) => {
    const at = page.data.findIndex((session) => session.id === id);
    if (at < 0) return page;
    const session = now(page.data[at]!);
    return { ...page, data: session ? page.data.with(at, session) : page.data.toSpliced(at, 1) };
  });
  return pages.every((page, i) => page === list.pages[i]) ? list : { ...list, pages };
}

type FirstPage = (filter: SessionFilter) => Promise<Page<Session>>;

// refreshLists fetches the first page of each visible list. Short lists, and those whose
// pages no longer meet, are fetched completely.
export async function refreshLists(queries: QueryClient, firstPage: FirstPage): Promise<void> {
  const lists = queries.getQueryCache().findAll({ queryKey: ['sessions'] });
  await Promise.all(
    lists.map(async (query) => {
      const { queryKey } = query;
      const whole = () => queries.invalidateQueries({ queryKey, exact: true });
      const list = queries.getQueryData<SessionPages>(queryKey);
      if (!query.isActive() || !list || list.pages.length < 2 || query.state.fetchStatus !== 'idle') return whole();
      const first = await firstPage(queryKey[1] as SessionFilter).catch(() => null);
      const latest = queries.getQueryData<SessionPages>(queryKey);
      const fresh = first && latest && begun(latest, first);
      if (!fresh) return whole();
      queries.setQueryData(queryKey, fresh);
    }),
  );
}
