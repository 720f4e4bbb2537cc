import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Archive, ListFilter } from 'lucide-react';
import { useMemo, useState } from 'react';
import { agentList, projectList, sessionList } from '../api/queries';
import type { Session } from '../api/types';
import { dayName } from './format';
import { type Family, familiesOf } from './families';
import { PINNED, SessionRows } from './sessionrows';
import { Failed, Menu } from './ui';

type Grouping = 'date' | 'agent' | 'project';
const KEY = 'parley.grouping';

export function SessionList() {
  const [grouping, setGrouping] = useState<Grouping>(() => (localStorage.getItem(KEY) as Grouping | null) ?? 'date');
  const [archived, setArchived] = useState(false);
  const sessions = useInfiniteQuery(sessionList(archived ? { archived: 'true' } : {}));
  const agents = useQuery(agentList('any'));
  const projects = useQuery(projectList());
  const rows = useMemo(() => sessions.data?.pages.flatMap((page) => page.data) ?? [], [sessions.data]);
  const groups = useMemo(() => {
    const agentName = new Map(agents.data?.map((agent) => [agent.id, agent.name]));
    const projectName = new Map(projects.data?.map((project) => [project.id, project.name]));
    return group(rows, (session) => {
      if (grouping === 'agent') return agentName.get(session.agent_id) ?? 'Other agents';
      if (grouping === 'project') return session.project_id ? (projectName.get(session.project_id) ?? 'Other projects') : 'No project';
      return dayName(session.updated_at);
    });
  }, [rows, grouping, agents.data, projects.data]);
  const groupBy = (next: Grouping) => {
    localStorage.setItem(KEY, next);
    setGrouping(next);
  };
  return (
    <>
      <div className="flex items-center justify-between px-3 pb-1">
        <h2 className="text-xs font-semibold text-faint">{archived ? 'Archived' : 'Conversations'}</h2>
        <Menu
          trigger={
            <button type="button" aria-label="Group and filter conversations" className="inline-flex size-7 items-center justify-center rounded-lg text-soft hover:bg-hover">
              <ListFilter size={15} aria-hidden />
            </button>
          }
          entries={[
            ...(['date', 'project', 'agent'] as const).map((kind) => ({ label: `By ${kind}`, icon: grouping === kind ? '✓' : '', onSelect: () => groupBy(kind) })),
            null,
            { label: archived ? 'Show active' : 'Show archived', icon: <Archive size={14} />, onSelect: () => setArchived(!archived) },
          ]}
        />
      </div>
      <SessionRows groups={groups}>
        {sessions.isError && rows.length === 0 && <Failed error={sessions.error} onRetry={() => void sessions.refetch()} />}
        {sessions.isPending && <Skeleton />}
        {sessions.isSuccess && rows.length === 0 && (
          <p className="px-2 py-6 text-center text-sm text-faint">{archived ? 'No archived conversations.' : 'Conversations appear here.'}</p>
        )}
        {sessions.hasNextPage && (
          <button
            type="button"
            className="mt-2 h-8 w-full rounded-lg text-sm text-soft hover:bg-hover"
            disabled={sessions.isFetchingNextPage}
            onClick={() => void sessions.fetchNextPage()}
          >
            {sessions.isFetchingNextPage ? 'Loading…' : 'Show older'}
          </button>
        )}
      </SessionRows>
    </>
  );
}

// group sorts conversations into groups. Branches fold under the conversation that they
// began in, if it is listed; the newest of them all gives the place.
function group(rows: Session[], nameOf: (session: Session) => string): [string, Family[]][] {
  const groups = new Map<string, Family[]>();
  for (const family of familiesOf(rows)) {
    const name = family.session.pinned ? PINNED : nameOf(family.newest);
    const members = groups.get(name);
    if (members) members.push(family);
    else groups.set(name, [family]);
  }
  return [...groups].sort(([a], [b]) => Number(b === PINNED) - Number(a === PINNED));
}

function Skeleton() {
  return (
    <div aria-hidden className="mt-3 space-y-2 px-2">
      {[80, 65, 90, 50].map((width) => (
        <div key={width} className="h-6 rounded bg-sunken" style={{ width: `${width}%` }} />
      ))}
    </div>
  );
}
