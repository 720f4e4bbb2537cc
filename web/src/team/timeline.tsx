import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ArrowRight } from 'lucide-react';
import { useId, useState } from 'react';
import { request, sentence } from '../api/http';
import type { Delegation, ID, Team } from '../api/types';
import { fullTime, time } from '../components/format';
import { useReader } from '../components/role';
import { TitleText } from './titletext';
import { Badge, Button, cx, Dialog, Empty, Failed, Loading } from '../components/ui';
import { Markdown } from '../markdown/markdown';
import { delegationsOf } from './queries';
import { isOpen, KINDS, nameIn, receiverOf, statusOf } from './words';

// Timeline is what the members of a team have handed to each other and to people, the newest first, as it happens.
export function Timeline({ team }: { team: Team }) {
  const list = useInfiniteQuery(delegationsOf(team.members.map((one) => one.agent_id!)));
  const rows = list.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <section aria-labelledby="delegations" className="mt-10">
      <h2 id="delegations" className="mb-2 font-semibold">
        Delegations
      </h2>
      {list.isPending && <Loading what="delegations" />}
      {list.isError && <Failed error={list.error} onRetry={() => void list.refetch()} />}
      {list.isSuccess && rows.length === 0 && <Empty title="Nothing was handed over yet.">Give the lead a task: it hands parts of it to the others, and what they send each other shows here.</Empty>}
      <ol className="space-y-2">
        {rows.map((one) => (
          <Row key={one.id} team={team} delegation={one} />
        ))}
      </ol>
      {list.hasNextPage && (
        <Button className="mt-3" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show earlier ones
        </Button>
      )}
    </section>
  );
}

function Row({ team, delegation }: { team: Team; delegation: Delegation }) {
  const [open, setOpen] = useState(false);
  const body = useId();
  const status = statusOf(delegation);
  return (
    <li data-delegation={delegation.id} className={cx('rounded-xl border', isOpen(delegation) ? 'border-line-strong' : 'border-line')}>
      <h3>
        <button type="button" aria-expanded={open} aria-controls={open ? body : undefined} onClick={() => setOpen(!open)} className="w-full rounded-xl px-4 py-2.5 text-left text-sm hover:bg-raised">
          <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
            <Badge>{KINDS[delegation.kind]}</Badge>
            <span className="inline-flex items-center gap-1 font-medium">
              {nameIn(team, delegation.from_agent_id)} <ArrowRight size={13} aria-hidden /> <span className="sr-only">to</span> {receiverOf(team, delegation)}
            </span>
            <Badge tone={status.tone}>{status.name}</Badge>
            <time className="ml-auto text-xs font-normal text-faint" dateTime={delegation.created_at} title={fullTime(delegation.created_at)}>
              {time(delegation.created_at)}
            </time>
          </span>
          {!open && <TitleText text={delegation.text} className="mt-1 line-clamp-1 font-normal text-soft" />}
        </button>
      </h3>
      {open && (
        <div id={body} className="space-y-3 border-t border-line px-4 py-3">
          <Details delegation={delegation} />
        </div>
      )}
    </li>
  );
}

function Details({ delegation: one }: { delegation: Delegation }) {
  const reader = useReader();
  return (
    <>
      <Markdown text={one.text} complete />
      {one.reason && <p className="text-sm text-soft">Reason: {one.reason}</p>}
      <p className="text-xs text-faint">
        Sent {fullTime(one.created_at)}
        {one.delivered_at && ` · delivered ${fullTime(one.delivered_at)}`}
        {one.finished_at ? ` · ended ${fullTime(one.finished_at)}` : one.deadline_at && ` · expires ${fullTime(one.deadline_at)}`}
      </p>
      <p className="flex flex-wrap items-center gap-x-4 gap-y-2 text-sm">
        <Way session={one.from_session_id} message={one.call_message_id}>
          Where it was sent
        </Way>
        <Way session={one.to_session_id} message={one.message_id}>
          Where it arrived
        </Way>
        <Way session={one.answer_message_id && one.to_session_id} message={one.answer_message_id}>
          The answer
        </Way>
        {isOpen(one) && !reader && <Cancel id={one.id} />}
      </p>
    </>
  );
}

function Way({ session, message, children }: { session: ID | null; message: ID | null; children: string }) {
  if (!session) return null;
  return (
    <Link to="/c/$id" params={{ id: session }} search={message ? { at: message } : {}} className="text-accent underline underline-offset-2">
      {children}
    </Link>
  );
}

function Cancel({ id }: { id: ID }) {
  const queries = useQueryClient();
  const [asks, setAsks] = useState(false);
  const [error, setError] = useState('');
  const cancel = () =>
    request(`/v1/delegations/${id}/cancel`, { method: 'POST' }).then(
      () => {
        setAsks(false);
        void queries.invalidateQueries({ queryKey: ['delegations'] });
        void queries.invalidateQueries({ queryKey: ['team'] });
      },
      (failure: unknown) => setError(sentence(failure)),
    );
  return (
    <>
      <Button look="danger" className="ml-auto" onClick={() => setAsks(true)}>
        Cancel
      </Button>
      <Dialog open={asks} onClose={() => setAsks(false)} title="Cancel the delegation?" about="The work for it stops, with all that was sent on for it. The agent that sent it is told.">
        {error && (
          <p role="alert" className="mb-3 text-sm text-bad">
            {error}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={() => setAsks(false)}>Keep it</Button>
          <Button look="danger" onClick={() => void cancel()}>
            Cancel the delegation
          </Button>
        </div>
      </Dialog>
    </>
  );
}
