import type { InfiniteData, QueryClient } from '@tanstack/react-query';
import type { Page, Session } from '../api/types';
import { feed } from './feed';

const SETTLE_MS = 300; // list changes that come together are fetched once

// followWorkspace keeps lists as the workspace feed tells: what a row shows is changed
// in place, what moves rows is fetched again.
export function followWorkspace(queries: QueryClient): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stale = new Set<string>();
  const fetchAgain = (...names: string[]) => {
    for (const name of names) stale.add(name);
    timer ??= setTimeout(() => {
      timer = undefined;
      for (const name of stale) void queries.invalidateQueries({ queryKey: [name] });
      stale.clear();
    }, SETTLE_MS);
  };
  feed.onWorkspace((event) => {
    const id = event.session_id ?? event.data?.session_id ?? event.data?.session?.id;
    switch (event.type) {
      case 'resync':
        fetchAgain('sessions', 'session', 'approvals', 'agents', 'projects', 'tree');
        break;
      case 'session.status_changed':
        change(queries, id, { status: event.data.status, wait_reason: event.data.wait_reason ?? null });
        fetchAgain('sessions', 'tree');
        if (event.data.status === 'waiting' || event.data.status === 'running') fetchAgain('approvals');
        break;
      case 'session.updated':
        fetchAgain('sessions');
        if (id) void queries.invalidateQueries({ queryKey: ['session', id] });
        break;
      case 'session.deleted':
        fetchAgain('sessions', 'tree');
        break;
      case 'approval.created':
      case 'approval.resolved':
        fetchAgain('approvals');
        break;
    }
  });
}

function change(queries: QueryClient, id: string, fields: Partial<Session>): void {
  queries.setQueriesData<InfiniteData<Page<Session>>>({ queryKey: ['sessions'] }, (data) =>
    data && {
      ...data,
      pages: data.pages.map((page) => ({ ...page, data: page.data.map((session) => (session.id === id ? { ...session, ...fields } : session)) })),
    },
  );
  queries.setQueryData<Session>(['session', id], (session) => session && { ...session, ...fields });
}
