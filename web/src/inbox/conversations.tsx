import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { approvalList, callsAndResults, failureList, lastTurnOf, questionList, sessionOf } from '../api/queries';
import type { Approval, Session } from '../api/types';
import { Answer } from '../chat/answer';
import { ApprovalCard } from '../chat/approval';
import { ErrorCard } from '../chat/failure';
import { askedBy } from '../chat/tools';
import { fullTime, time } from '../components/format';
import { titleOf } from '../components/title';
import { Badge, Button, Failed, Loading } from '../components/ui';
import { Arguments } from './arguments';

// Conversations are what waits for a person in conversations: calls to approve, but for those that the inbox has items
// for, and questions. Below them is what failed last.
export function Conversations({ itemed }: { itemed: Set<string> }) {
  const [all, setAll] = useState(false);
  const pending = useQuery(approvalList('pending'));
  const questions = useQuery(questionList());
  const failures = useQuery(failureList());
  const decided = useQuery({ ...approvalList(''), enabled: all });
  const approvals = pending.data?.filter((one) => !itemed.has(one.id));
  return (
    <>
      {pending.isPending && <Loading what="approvals" />}
      {pending.isError && <Failed error={pending.error} onRetry={() => void pending.refetch()} />}
      {!!approvals?.length && (
        <section aria-labelledby="approvals" className="mt-8">
          <h2 id="approvals" className="mb-3 font-semibold">
            Approvals
          </h2>
          <ul className="space-y-4">
            {approvals.map((approval) => (
              <li key={approval.id} className="space-y-3 rounded-2xl border border-line p-4">
                <Where approval={approval} />
                <Arguments approval={approval} />
                <ApprovalCard approval={approval} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {questions.isError && <Failed error={questions.error} onRetry={() => void questions.refetch()} />}
      {!!questions.data?.length && (
        <section aria-labelledby="questions" className="mt-8">
          <h2 id="questions" className="mb-3 font-semibold">
            Questions
          </h2>
          <ul className="space-y-4">
            {questions.data.map((session) => (
              <Question key={session.id} session={session} />
            ))}
          </ul>
        </section>
      )}
      {failures.isError && <Failed error={failures.error} onRetry={() => void failures.refetch()} />}
      {!!failures.data?.length && (
        <section aria-labelledby="failures" className="mt-8">
          <h2 id="failures" className="mb-3 font-semibold">
            Failed
          </h2>
          <ul className="space-y-4">
            {failures.data.map((session) => (
              <Failure key={session.id} session={session} />
            ))}
          </ul>
        </section>
      )}
      <div className="mt-8">
        {!all ? (
          <Button onClick={() => setAll(true)}>Show decided approvals</Button>
        ) : (
          <Decided approvals={(decided.data ?? []).filter((approval) => approval.state !== 'pending')} />
        )}
      </div>
    </>
  );
}

function Question({ session }: { session: Session }) {
  const { data: messages } = useQuery(callsAndResults(session));
  const answered = new Set(messages?.flatMap((one) => (one.role === 'tool_result' ? [one.tool_call_id] : [])));
  const open = messages?.filter((one) => one.role === 'tool_call' && !answered.has(one.tool_call_id)) ?? [];
  return (
    <li className="space-y-3 rounded-2xl border border-line p-4" data-question={session.id}>
      <Title session={session} />
      {open.toReversed().map((call) => {
        const asked = askedBy(call);
        return asked && <Answer key={call.id} question={asked} call={call} />;
      })}
    </li>
  );
}

function Failure({ session }: { session: Session }) {
  const { data: turn } = useQuery(lastTurnOf(session));
  return (
    <li className="rounded-2xl border border-line p-4" data-failed={session.id}>
      <Title session={session} />
      {turn?.error && <ErrorCard failure={turn.error} turn={turn.id} session={session.id} />}
    </li>
  );
}

function Title({ session }: { session: Session }) {
  return (
    <p className="flex items-center justify-between gap-3 text-sm">
      <Link to="/c/$id" params={{ id: session.id }} dir="auto" className="truncate font-medium text-accent underline underline-offset-2">
        {titleOf(session, 'A conversation')}
      </Link>
      <time className="shrink-0 text-xs text-faint" dateTime={session.updated_at}>
        {fullTime(session.updated_at)}
      </time>
    </p>
  );
}

function Where({ approval }: { approval: Approval }) {
  const { data: session } = useQuery(sessionOf(approval.session_id));
  return (
    <p className="flex items-center justify-between gap-3 text-sm">
      <Link to="/c/$id" params={{ id: approval.root_id }} className="truncate font-medium text-accent underline underline-offset-2">
        {session ? titleOf(session, 'A conversation') : 'A conversation'}
      </Link>
      <time className="shrink-0 text-xs text-faint" dateTime={approval.created_at}>
        {fullTime(approval.created_at)}
      </time>
    </p>
  );
}

const TONES = { approved: 'good', denied: 'bad', expired: 'warn', cancelled: 'plain', pending: 'plain' } as const;

function Decided({ approvals }: { approvals: Approval[] }) {
  if (approvals.length === 0) return <p className="text-sm text-faint">No decided approvals yet.</p>;
  return (
    <div className="overflow-x-auto" tabIndex={0} role="region" aria-label="Decided approvals">
    <table className="w-full min-w-96 text-left text-sm">
      <thead className="text-xs text-faint">
        <tr>
          <th className="py-2 font-medium">Tool</th>
          <th className="font-medium">State</th>
          <th className="font-medium">Conversation</th>
          <th className="text-right font-medium">Asked</th>
        </tr>
      </thead>
      <tbody className="divide-y divide-line">
        {approvals.map((approval) => (
          <tr key={approval.id}>
            <td className="py-2 font-mono text-xs">{approval.tool_name}</td>
            <td>
              <Badge tone={TONES[approval.state]}>{approval.state}</Badge>
            </td>
            <td>
              <Link to="/c/$id" params={{ id: approval.session_id }} className="text-accent underline underline-offset-2">
                open
              </Link>
            </td>
            <td className="text-right text-xs text-faint">{time(approval.created_at)}</td>
          </tr>
        ))}
      </tbody>
    </table>
    </div>
  );
}
