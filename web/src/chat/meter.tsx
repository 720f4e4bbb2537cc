import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { agentOf, modelList } from '../api/queries';
import type { Session } from '../api/types';
import { compact, money } from '../components/format';
import { cx, Tooltip } from '../components/ui';

export const FULL = 0.8; // of the window: above this the colour warns
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

// Meter shows how full the window is and what the conversation cost; it links to the details.
export function Meter({ session }: { session: Session }) {
  const { share, length } = useWindow(session);
  const used = session.statistics;
  if (used.calls === 0) return null;
  const tokens = used.input_tokens + used.output_tokens;
  const says = [
    share === null ? `About ${compact(session.context.tokens)} tokens in the context` : `About ${compact(session.context.tokens)} of ${compact(length!)} tokens of the window`,
    `${compact(used.input_tokens)} tokens in, ${compact(used.output_tokens)} out`,
    `${money(used.cost)}${used.unpriced_calls > 0 ? ' and calls with unknown price' : ''}`,
  ].join(' · ');
  return (
    <Tooltip text={says}>
      <Link to="/c/$id" params={{ id: session.id }} search={{ panel: 'info' }} aria-label={`${says}. Details`} className="flex h-8 shrink-0 items-center gap-1.5 rounded-lg px-2 text-xs text-soft hover:bg-hover" data-meter>
        {share !== null && (
          <svg viewBox="0 0 16 16" className="size-4 -rotate-90" aria-hidden>
            <circle cx="8" cy="8" r={RADIUS} fill="none" strokeWidth="2.5" className="stroke-line-strong" />
            <circle cx="8" cy="8" r={RADIUS} fill="none" strokeWidth="2.5" strokeDasharray={`${share * AROUND} ${AROUND}`} className={cx(share > FULL ? 'stroke-warn' : 'stroke-accent')} />
          </svg>
        )}
        <span className="@max-lg:hidden">{tokens > 0 && used.unpriced_calls >= used.calls ? `${compact(tokens)} tokens` : money(used.cost)}</span>
      </Link>
    </Tooltip>
  );
}
