import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { X } from 'lucide-react';
import { lazy, type ReactNode, Suspense } from 'react';
import { agentOf } from '../api/queries';
import { compact, fullTime, money, number } from '../components/format';
import { statusName } from '../components/status';
import { IconButton, Loading } from '../components/ui';
import type { Transcript } from '../live/transcript';
import type { Panel } from '../router';
import { EventRows } from '../pages/events';

const ContextPanel = lazy(() => import('../context/panel').then((module) => ({ default: module.ContextPanel })));

const NAMES: Record<Panel, string> = { info: 'Details', context: 'Context', trace: 'Events' };

// Drawer is the panel beside a conversation.
export function Drawer({ panel, transcript, onClose }: { panel: Panel; transcript: Transcript; onClose: () => void }) {
  return (
    <aside aria-label={NAMES[panel]} className="flex w-96 shrink-0 flex-col border-l border-line bg-raised max-lg:fixed max-lg:inset-y-0 max-lg:right-0 max-lg:z-30 max-lg:w-[min(24rem,100vw)] max-lg:shadow-pop">
      <div className="flex h-12 items-center justify-between border-b border-line px-3">
        <div className="flex gap-1 text-sm">
          <Tab panel="info" open={panel}>
            Details
          </Tab>
          <Tab panel="context" open={panel}>
            Context
          </Tab>
          <Tab panel="trace" open={panel}>
            Events
          </Tab>
        </div>
        <IconButton name="Close" onClick={onClose}>
          <X size={16} />
        </IconButton>
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto p-4">
        {panel === 'info' && <Details transcript={transcript} />}
        {panel === 'context' && (
          <Suspense fallback={<Loading what="the context" />}>
            <ContextPanel transcript={transcript} />
          </Suspense>
        )}
        {panel === 'trace' && <EventRows events={transcript.events} />}
      </div>
    </aside>
  );
}

function Tab({ panel, open, children }: { panel: Panel; open: Panel; children: string }) {
  return (
    <Link to="." search={{ panel }} aria-current={panel === open ? 'page' : undefined} className={panel === open ? 'rounded-lg bg-hover px-2 py-1 font-medium' : 'rounded-lg px-2 py-1 text-soft hover:bg-hover'}>
      {children}
    </Link>
  );
}

function Details({ transcript }: { transcript: Transcript }) {
  const session = transcript.session!;
  const { data: agent } = useQuery(agentOf(session.agent_id));
  const used = session.statistics;
  return (
    <dl className="space-y-4 text-sm">
      <Fact name="Agent">
        <Link to="/agents/$id" params={{ id: session.agent_id }} className="text-accent underline underline-offset-2">
          {agent?.name ?? '…'}
        </Link>
      </Fact>
      <Fact name="State">{statusName(session.status, session.wait_reason)}</Fact>
      <Fact name="Messages">
        {number(used.messages)} in {number(used.turns)} turns
      </Fact>
      <Fact name="Tokens">
        {compact(used.input_tokens)} in, {compact(used.output_tokens)} out
        {used.cached_tokens > 0 && `, ${compact(used.cached_tokens)} of them from the cache`}
      </Fact>
      <Fact name="In the context now">
        {number(session.context.messages)} messages, about {compact(session.context.tokens)} tokens
        {session.context.cleared_at && `, cleared ${fullTime(session.context.cleared_at)}`}
      </Fact>
      <Fact name="Cost">
        {money(used.cost)}
        {used.unpriced_calls > 0 && ` and ${number(used.unpriced_calls)} calls of unknown price`}
        {used.saved > 0 && `, ${money(used.saved)} saved by caches`}
      </Fact>
      <Fact name="Begun">{fullTime(session.created_at)}</Fact>
      <Fact name="Last activity">{fullTime(session.updated_at)}</Fact>
      {session.tags.length > 0 && <Fact name="Tags">{session.tags.join(', ')}</Fact>}
      {session.key && <Fact name="Key">{session.key}</Fact>}
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
