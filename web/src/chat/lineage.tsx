import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { GitFork } from 'lucide-react';
import type { ReactNode } from 'react';
import { Problem } from '../api/http';
import { forksOf, sessionOf } from '../api/queries';
import type { ID, Session } from '../api/types';
import { fullTime } from '../components/format';
import { StatusDot } from '../components/status';
import { Badge, cx, Failed, Loading } from '../components/ui';
import { titleOf } from '../components/title';

const FARTHEST = 20; // generations shown above

// Lineage shows where a conversation was forked from, and its own forks.
export function Lineage({ session }: { session: Session }) {
  return (
    <div className="space-y-5">
      <Part name="Where it comes from">
        {session.parent_session_id && session.forked_through !== null ? (
          <ol className="-mx-2">
            <Generation id={session.parent_session_id} child={session} left={FARTHEST} />
            <One session={session} open />
          </ol>
        ) : (
          <p className="text-sm text-soft">It was started {fullTime(session.created_at)} and is not a fork.</p>
        )}
      </Part>
      <Part name="Forked from it">
        <Forks session={session} />
      </Part>
    </div>
  );
}

function Part({ name, children }: { name: string; children: ReactNode }) {
  return (
    <section>
      <h2 className="mb-1.5 text-xs text-faint">{name}</h2>
      {children}
    </section>
  );
}

function Generation({ id, child, left }: { id: ID; child: Session; left: number }) {
  const parent = useQuery(sessionOf(id));
  if (parent.isPending) return <Loading what="its origin" />;
  if (parent.isError) {
    const gone = parent.error instanceof Problem && parent.error.status === 404;
    return gone ? <li className="px-2 py-1.5 text-sm text-soft">The original conversation was deleted, or belongs to somebody else. The shared messages stay here.</li> : <Failed error={parent.error} onRetry={() => void parent.refetch()} />;
  }
  const above = parent.data.forked_through !== null ? parent.data.parent_session_id : null;
  return (
    <>
      {above && left > 1 && <Generation id={above} child={parent.data} left={left - 1} />}
      <One session={parent.data} at={child.parent_message_id} through={child.forked_through} />
    </>
  );
}

function Forks({ session }: { session: Session }) {
  const forks = useQuery(forksOf(session.id));
  if (forks.isPending) return <Loading what="its forks" />;
  if (forks.isError) return <Failed error={forks.error} onRetry={() => void forks.refetch()} />;
  const branches = forks.data.filter((fork) => fork.forked_through !== null);
  if (branches.length === 0) return <p className="text-sm text-soft">Nothing yet. “Fork from here” below a message starts a fork; so does editing a message, or asking for an answer again.</p>;
  return (
    <ol className="-mx-2">
      {branches.map((fork) => (
        <One key={fork.id} session={fork} through={fork.forked_through} />
      ))}
    </ol>
  );
}

function One({ session, at, through, open }: { session: Session; at?: ID | null; through?: number | null; open?: boolean }) {
  return (
    <li>
      <Link to="/c/$id" params={{ id: session.id }} search={{ panel: 'lineage', ...(at ? { at } : {}) }} aria-current={open ? 'page' : undefined} className={cx('block rounded-lg px-2 py-1.5 text-sm hover:bg-hover', open && 'bg-hover font-medium')}>
        <span className="flex items-center gap-2">
          <StatusDot status={session.status} wait={session.wait_reason} />
          <span className="min-w-0 flex-1 truncate">{titleOf(session)}</span>
          {session.archived_at && <Badge>archived</Badge>}
        </span>
        <span className="ml-4 flex items-center gap-1.5 text-xs font-normal text-faint">
          {typeof through === 'number' && (
            <>
              <GitFork size={11} aria-hidden /> {through === 0 ? 'forked at the beginning' : `forked after #${through}`} ·{' '}
            </>
          )}
          {fullTime(session.created_at)}
        </span>
      </Link>
    </li>
  );
}
