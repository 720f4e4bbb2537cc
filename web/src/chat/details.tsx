import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { agentOf, projectList } from '../api/queries';
import type { Session } from '../api/types';
import { compact, fullTime, money, number } from '../components/format';
import { statusName } from '../components/status';
import { Badge, cx } from '../components/ui';
import { FULL } from '../context/outlook';
import { useWindow } from './meter';

// Details shows the facts about a whole conversation.
export function Details({ session }: { session: Session }) {
  const { data: agent } = useQuery(agentOf(session.agent_id));
  const { data: projects } = useQuery({ ...projectList(), enabled: session.project_id !== null });
  const { model, share, length } = useWindow(session);
  const used = session.statistics;
  return (
    <dl className="space-y-4 text-sm">
      <Fact name="Agent">
        <Link to="/agents/$id" params={{ id: session.agent_id }} search={{ session: session.id }} className="text-accent underline underline-offset-2">
          {agent?.name ?? '…'}
        </Link>
      </Fact>
      <Fact name="Model">
        {model || 'unknown'} {model.startsWith('sim/') && <Badge tone="warn">simulator</Badge>}
        {(session.reasoning_effort ?? agent?.reasoning_effort) && `, ${session.reasoning_effort ?? agent?.reasoning_effort} effort`}
      </Fact>
      <Fact name="State">{statusName(session.status, session.wait_reason)}</Fact>
      <Fact name="In the context now">
        {number(session.context.messages)} messages, about {compact(session.context.tokens)} tokens
        {length !== null && ` of ${compact(length)}`}
        {session.context.cleared_at && `, cleared ${fullTime(session.context.cleared_at)}`}
        {share !== null && (
          <span role="meter" aria-label="How full the window is" aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(share * 100)} className="mt-1.5 block h-1.5 overflow-hidden rounded-full bg-sunken">
            <span className={cx('block h-full rounded-full', share > FULL ? 'bg-warn' : 'bg-accent')} style={{ width: `${share * 100}%` }} />
          </span>
        )}
      </Fact>
      <Fact name="Messages">
        {number(used.messages)} in {number(used.turns)} turns, {number(used.calls)} model calls
      </Fact>
      <Fact name="Tokens">
        {compact(used.input_tokens)} in, {compact(used.output_tokens)} out
        {used.cached_tokens > 0 && (
          <>
            <br />
            {compact(used.cached_tokens)} of them ({Math.round((100 * used.cached_tokens) / Math.max(1, used.input_tokens))} %) read from a provider’s cache
          </>
        )}
      </Fact>
      <Fact name="Cost">
        {money(used.cost)}
        {used.unpriced_calls > 0 && ` and ${number(used.unpriced_calls)} calls with unknown price`}
        {used.saved > 0 && `, ${money(used.saved)} saved by caches`}
        <br />
        <Link to="/usage" search={{ by: 'session' }} className="text-accent underline underline-offset-2">
          Compare with other conversations
        </Link>
      </Fact>
      {session.project_id && (
        <Fact name="Project">
          <Link to="/projects/$id" params={{ id: session.project_id }} className="text-accent underline underline-offset-2">
            {projects?.find((one) => one.id === session.project_id)?.name ?? '…'}
          </Link>
        </Fact>
      )}
      {session.tags.length > 0 && (
        <Fact name="Tags">
          <span className="flex flex-wrap gap-1">
            {session.tags.map((tag) => (
              <Badge key={tag}>{tag}</Badge>
            ))}
          </span>
        </Fact>
      )}
      <Fact name="Visible to">{session.visibility === 'private' ? 'you and admins' : 'everybody in the workspace'}</Fact>
      <Fact name="Started">{fullTime(session.created_at)}</Fact>
      <Fact name="Last activity">{fullTime(session.updated_at)}</Fact>
      {session.instructions && (
        <Fact name="Instructions">
          <span className="whitespace-pre-wrap">{session.instructions}</span>
        </Fact>
      )}
      {session.key && <Fact name="Key">{session.key}</Fact>}
      {Object.keys(session.metadata).length > 0 && (
        <Fact name="Metadata">
          <pre tabIndex={0} aria-label="Metadata" className="max-h-48 overflow-auto rounded-lg bg-code p-2 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]">
            {JSON.stringify(session.metadata, null, 2)}
          </pre>
        </Fact>
      )}
      <Fact name="Id">
        <span className="font-mono text-xs break-all">{session.id}</span>
      </Fact>
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt className="text-xs text-faint">{name}</dt>
      <dd className="mt-0.5">{children}</dd>
    </div>
  );
}
