import { useQuery, useQueryClient } from '@tanstack/react-query';
import { AppWindow } from 'lucide-react';
import { useEffect } from 'react';
import { request } from '../api/http';
import { clientList, principal } from '../api/queries';
import type { ID, SessionClient } from '../api/types';
import { Tooltip } from '../components/ui';
import { feed } from '../live/feed';

const BEAT_MS = 30_000; // the server counts a window as gone after 90 s of silence
const LATE_MS = 500; // after a window's end, so that the server has noticed it too

const self = `page-${feed.tab}`;
const path = `/v1/clients/${self}/session`;

// Requests about this window are sent one after the other: a leave that overtakes an
// arrival would cancel it.
let told: Promise<unknown> = Promise.resolve();
const tell = (body: { session_id: ID } | null) => {
  told = told.then(() => request(path, body ? { method: 'PUT', body } : { method: 'DELETE' })).catch(() => undefined);
};

// usePresence tells the server which conversation this window has open, while it is
// open and again when the window wakes; null for none.
export function usePresence(id: ID | null): void {
  useEffect(() => {
    if (id === null) return;
    const here = () => tell({ session_id: id });
    const seen = () => document.visibilityState === 'visible' && here();
    const leave = () => void fetch(path, { method: 'DELETE', keepalive: true }).catch(() => undefined);
    here();
    const beat = setInterval(here, BEAT_MS);
    addEventListener('pagehide', leave);
    document.addEventListener('visibilitychange', seen);
    return () => {
      clearInterval(beat);
      removeEventListener('pagehide', leave);
      document.removeEventListener('visibilitychange', seen);
      tell(null);
    };
  }, [id]);
}

// Presence says who else has the conversation open.
export function Presence({ id }: { id: ID }) {
  const queries = useQueryClient();
  const { data: me } = useQuery(principal());
  const { data: clients } = useQuery(clientList(id));
  useEffect(
    () =>
      feed.onWorkspace((event) => {
        const turned = event.session_id === id && (event.type === 'session.activated' || event.type === 'session.deactivated');
        if (turned || event.type === 'resync') void queries.invalidateQueries(clientList(id));
      }),
    [queries, id],
  );
  const others = clients?.filter((client) => client.client_id !== self) ?? [];
  const next = Math.min(...others.map((client) => Date.parse(client.expires_at)));
  useEffect(() => {
    if (!Number.isFinite(next)) return;
    const timer = setTimeout(() => void queries.invalidateQueries(clientList(id)), Math.max(0, next - Date.now()) + LATE_MS);
    return () => clearTimeout(timer);
  }, [queries, id, next]);
  const says = presenceText(others, me?.id ?? '');
  if (!says) return null;
  return (
    <Tooltip text={says}>
      <span role="status" className="inline-flex h-6 shrink-0 items-center gap-1 rounded-full bg-accent-soft px-2 text-xs text-accent-strong" data-presence>
        <AppWindow size={12} aria-hidden />
        <span className="@max-3xl:sr-only">{says}</span>
        <span aria-hidden className="@3xl:hidden">
          {others.length}
        </span>
      </span>
    </Tooltip>
  );
}

// presenceText names the others: it counts one's own windows, and names people once.
export function presenceText(others: SessionClient[], me: ID): string {
  const mine = others.filter((client) => client.principal.id === me).length;
  const names = [...new Set(others.filter((client) => client.principal.id !== me).map((client) => client.principal.name))];
  const parts: string[] = [];
  if (mine > 0) parts.push(`in ${mine === 1 ? 'another window' : `${mine} other windows`}`);
  if (names.length > 0) parts.push(`by ${names.slice(0, 3).join(', ')}${names.length > 3 ? ` and ${names.length - 3} more` : ''}`);
  return parts.length > 0 ? `Open ${parts.join(' and ')}` : '';
}
