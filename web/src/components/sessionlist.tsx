import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { Archive, ListFilter, Pin } from 'lucide-react';
import { useMemo, useState } from 'react';
import { agentList, projectList, sessionList } from '../api/queries';
import type { Session } from '../api/types';
import { dayName, time } from './format';
import { StatusDot } from './status';
import { cx, Failed, Menu } from './ui';
import { unread, useSaw, useSeen } from './unread';

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
      <div className="min-h-0 flex-1 overflow-y-auto px-2 pb-2" data-session-list>
        {sessions.isError && rows.length === 0 && <Failed error={sessions.error} onRetry={() => void sessions.refetch()} />}
        {sessions.isPending && <Skeleton />}
        {sessions.isSuccess && rows.length === 0 && (
          <p className="px-2 py-6 text-center text-sm text-faint">{archived ? 'Nothing is archived.' : 'Conversations appear here.'}</p>
        )}
        {groups.map(([name, members]) => (
          <section key={name} aria-label={name} className="mt-2">
            <h3 className="flex items-center gap-1 px-2 py-1 text-xs font-medium text-faint">
              {name === PINNED && <Pin size={11} aria-hidden />} {name}
            </h3>
            <ul>
              {members.map((session) => (
                <Row key={session.id} session={session} />
              ))}
            </ul>
          </section>
        ))}
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
      </div>
    </>
  );
}

function Row({ session }: { session: Session }) {
  const open = useParams({ strict: false }).id === session.id;
  const news = unread(session, useSeen()) && !open;
  useSaw(open ? session : undefined);
  return (
    <li>
      <Link
        to="/c/$id"
        params={{ id: session.id }}
        aria-current={open ? 'page' : undefined}
        className={cx('flex h-9 items-center gap-2 rounded-lg px-2 text-sm', open ? 'bg-hover font-medium text-text' : news ? 'font-semibold text-text hover:bg-hover' : 'text-soft hover:bg-hover hover:text-text')}
      >
        <StatusDot status={session.status} wait={session.wait_reason} />
        <span className="min-w-0 flex-1 truncate">{session.title || 'Untitled'}</span>
        {news && <span role="img" aria-label="Unread" title="Unread" className="size-2 shrink-0 rounded-full bg-accent" />}
        <time className="shrink-0 text-xs font-normal text-faint" dateTime={session.updated_at}>
          {time(session.updated_at)}
        </time>
      </Link>
    </li>
  );
}

const PINNED = 'Pinned';

function group(rows: Session[], nameOf: (session: Session) => string): [string, Session[]][] {
  const groups = new Map<string, Session[]>();
  const pinned = rows.filter((session) => session.pinned);
  if (pinned.length > 0) groups.set(PINNED, pinned);
  for (const session of rows) {
    if (session.pinned) continue;
    const name = nameOf(session);
    const members = groups.get(name);
    if (members) members.push(session);
    else groups.set(name, [session]);
  }
  return [...groups];
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
