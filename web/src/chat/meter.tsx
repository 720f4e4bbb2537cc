import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { agentOf, modelList } from '../api/queries';
import type { Session } from '../api/types';
import { compact, money } from '../components/format';
import { cx, Tooltip } from '../components/ui';
import { FULL, leftOf, NEAR, saysOf } from '../context/outlook';
import { useContextOf } from '../context/usecontext';
import type { Transcript } from '../live/transcript';
import type { Panel } from '../router';

const LOOKS = 0.4; // of a bound that is known here, from which on the server is asked unasked
const CEILING = 200_000; // tokens at which long windows are summed up, unless a policy says otherwise
const RADIUS = 6;
const AROUND = 2 * Math.PI * RADIUS;

// windowOf is the share of its model's window that a conversation fills; null while unknown.
export function useWindow(session: Session): { model: string; share: number | null; length: number | null } {
  const { data: models } = useQuery(modelList());
  const { data: agent } = useQuery(agentOf(session.agent_id));
  const model = session.model ?? agent?.model ?? models?.default ?? '';
  const length = models?.data.find((one) => one.id === model)?.context_length || null;
  return { model, length, share: length ? Math.min(1, session.context.tokens / length) : null };
}

// useNear reports that the next shortening may be near, so that the page asks the server about it.
function useNear(session: Session, length: number | null): boolean {
  const { data: agent } = useQuery(agentOf(session.agent_id));
  const policy = session.context_policy ?? agent?.context_policy;
  const { tokens, messages } = session.context;
  const limit = policy?.limit ? 2 * policy.limit : Infinity; // of recent; a summary comes at half of it
  return tokens > LOOKS * Math.min(policy?.tokens || CEILING, length ?? Infinity) || messages > (LOOKS * limit) / 2;
}

// Meter shows how near a conversation's window is to being shortened, and what the conversation cost; it links to what
// goes first.
export function Meter({ transcript, session, panel }: { transcript: Transcript; session: Session; panel?: Panel }) {
  const { share, length } = useWindow(session);
  const [wanted, setWanted] = useState(false);
  const near = useNear(session, length);
  const { data } = useContextOf(transcript, (wanted || near) && !transcript.activity.running && session.statistics.calls > 0, '', panel !== 'context');
  const used = session.statistics;
  if (used.calls === 0) return null;
  const outlook = data?.outlook ?? null;
  const filled = outlook?.share ?? share;
  const tokens = used.input_tokens + used.output_tokens;
  const says = [
    outlook && saysOf(outlook),
    share === null ? `About ${compact(session.context.tokens)} tokens in the context` : `About ${compact(session.context.tokens)} of ${compact(length!)} tokens of the window`,
    `${compact(used.input_tokens)} tokens in, ${compact(used.output_tokens)} out`,
    `${money(used.cost)}${used.unpriced_calls > 0 ? ' and calls with unknown price' : ''}`,
  ]
    .filter(Boolean)
    .join(' · ');
  return (
    <Tooltip text={says}>
      <Link to="/c/$id" params={{ id: session.id }} search={{ panel: 'context' }} onPointerEnter={() => setWanted(true)} onFocus={() => setWanted(true)} aria-label={`${says}. What the model sees`} className="flex h-8 shrink-0 items-center gap-1.5 rounded-lg px-2 text-xs text-soft hover:bg-hover" data-meter>
        {filled !== null && (
          <svg viewBox="0 0 16 16" className="size-4 -rotate-90" aria-hidden>
            <circle cx="8" cy="8" r={RADIUS} fill="none" strokeWidth="2.5" className="stroke-line-strong" />
            <circle cx="8" cy="8" r={RADIUS} fill="none" strokeWidth="2.5" strokeDasharray={`${filled * AROUND} ${AROUND}`} className={cx(filled > FULL ? 'stroke-warn' : 'stroke-accent')} />
          </svg>
        )}
        {outlook && outlook.share >= NEAR && <span className="@max-lg:sr-only">{leftOf(outlook)} % left</span>}
        <span className="@max-lg:hidden">{tokens > 0 && used.unpriced_calls >= used.calls ? `${compact(tokens)} tokens` : money(used.cost)}</span>
      </Link>
    </Tooltip>
  );
}
