import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ChevronRight, GitFork } from 'lucide-react';
import { sessionOf } from '../api/queries';
import type { Session } from '../api/types';
import { titleOf } from '../components/title';

const DEEPEST = 4; // ancestors shown by name; the tree has the others

// Breadcrumb shows the conversations above a sub-conversation, and for a fork where it
// was forked.
export function Breadcrumb({ session }: { session: Session }) {
  if (!session.parent_session_id) return null;
  return (
    <nav aria-label="Where this conversation comes from" className="flex min-w-0 shrink items-center gap-1 text-sm text-soft @max-lg:hidden">
      <Ancestor id={session.parent_session_id} at={session.parent_message_id} fork={session.forked_through !== null} left={DEEPEST} />
    </nav>
  );
}

function Ancestor({ id, at, fork, left }: { id: string; at: string | null; fork: boolean; left: number }) {
  const { data: session, isError } = useQuery(sessionOf(id));
  const above = !fork && session?.kind === 'tool' ? session.parent_session_id : null;
  return (
    <>
      {above && left > 1 && <Ancestor id={above} at={session?.parent_message_id ?? null} fork={session?.forked_through !== null} left={left - 1} />}
      {fork && <GitFork size={13} aria-hidden className="shrink-0 text-faint" />}
      {isError ? (
        <span className="shrink-0">{fork ? 'forked from a deleted conversation' : 'deleted'}</span>
      ) : (
        <Link to="/c/$id" params={{ id }} search={at ? { at } : {}} title={fork ? `Forked from ${session ? titleOf(session) : 'Untitled'}` : session && titleOf(session)} className="max-w-36 truncate rounded hover:text-text">
          {fork && <span className="sr-only">forked from </span>}
          {session ? titleOf(session) : '…'}
        </Link>
      )}
      <ChevronRight size={14} aria-hidden className="shrink-0 text-faint" />
    </>
  );
}
