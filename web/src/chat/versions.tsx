import { type QueryClient, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { ChevronLeft, ChevronRight } from 'lucide-react';
import { forksOf, sessionOf } from '../api/queries';
import type { ID, Session } from '../api/types';

// Asking a question again, or another one in its place, begins a branch: a conversation
// that shares everything before the question. The branches of one place are the versions
// of its answer.

const DEEPEST = 12; // generations above and below
const MOST = 50; // versions

export interface Place {
  session: ID; // that is open
  question: number; // its sequence
  before: ID | null; // the message before it; null if it is the first
}

// isVersion reports whether a fork asks anew at a place; a fork after the message before it goes on from there instead.
function isVersion(fork: Session, { question, before }: Place): boolean {
  return fork.forked_through === question - 1 && fork.parent_session_id !== null && (before === null || fork.parent_message_id !== before);
}

export interface Versions {
  all: ID[]; // sessions, the oldest version first
  here: number; // the position of the one that is open
}

// versionsAt finds the versions at a place: up to the conversation that asked first, and down through all branches.
export async function versionsAt(place: Place, read: { session: (id: ID) => Promise<Session | null>; forks: (id: ID) => Promise<Session[]> }): Promise<Versions> {
  const lineage: Session[] = [];
  for (let id: ID | null = place.session; id && lineage.length < DEEPEST; ) {
    const session: Session | null = await read.session(id);
    if (!session) break;
    lineage.push(session);
    id = session.forked_through === null ? null : session.parent_session_id;
  }
  // The writer of the question is the nearest one that had not shared it.
  const writer = lineage.findIndex((one) => one.forked_through === null || one.forked_through < place.question);
  if (writer < 0) return { all: [place.session], here: 0 };
  let first = writer;
  while (first + 1 < lineage.length && isVersion(lineage[first]!, place)) first++;
  const found = new Map<ID, Session>();
  let level = lineage.slice(0, first + 1);
  const asked = new Set<ID>();
  for (let depth = 0; level.length > 0 && depth < DEEPEST && found.size < MOST; depth++) {
    const forks = await Promise.all(level.filter((one) => !asked.has(one.id)).map((one) => (asked.add(one.id), read.forks(one.id))));
    level = forks.flat().filter((fork) => isVersion(fork, place) && !found.has(fork.id));
    for (const fork of level) found.set(fork.id, fork);
  }
  const others = [...found.values()].sort((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at)).slice(0, MOST).map((one) => one.id);
  // What a later conversation shares is shown by the one that is open.
  const own = isVersion(lineage[writer]!, place) ? lineage[writer]!.id : null;
  const origin = own ? lineage[first]!.id : place.session;
  return { all: [origin, ...others.filter((id) => id !== origin)], here: own ? 1 + others.indexOf(own) : 0 };
}

const versionsOf = (queries: QueryClient, place: Place) =>
  queryOptions({
    queryKey: ['versions', place.session, place.question, place.before],
    queryFn: () =>
      versionsAt(place, {
        session: (id) => queries.fetchQuery(sessionOf(id)).catch(() => null), // deleted, or somebody else's
        forks: (id) => queries.fetchQuery({ ...forksOf(id), staleTime: FRESH_MS }).catch(() => []),
      }),
    staleTime: FRESH_MS,
  });

const FRESH_MS = 10_000;

// VersionSwitch stands at an answer that has versions: ‹2/3› leads to the others, in place.
export function VersionSwitch({ place }: { place: Place }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { data } = useQuery(versionsOf(queries, place));
  if (!data || data.all.length < 2) return null;
  const { all, here } = data;
  const go = (to: number) => void navigate({ to: '/c/$id', params: { id: all[to]! }, search: { at: String(place.question) }, replace: true });
  return (
    <span role="group" aria-label="Versions of this answer" className="inline-flex items-center text-xs text-soft" data-versions>
      <button type="button" aria-label="Previous version" disabled={here === 0} onClick={() => go(here - 1)} className="inline-flex size-7 items-center justify-center rounded-lg hover:bg-hover disabled:opacity-40">
        <ChevronLeft size={14} aria-hidden />
      </button>
      <span className="tabular-nums">
        {here + 1}/{all.length}
      </span>
      <button type="button" aria-label="Next version" disabled={here === all.length - 1} onClick={() => go(here + 1)} className="inline-flex size-7 items-center justify-center rounded-lg hover:bg-hover disabled:opacity-40">
        <ChevronRight size={14} aria-hidden />
      </button>
    </span>
  );
}
