import { Link } from '@tanstack/react-router';
import type { ID, LeftOut, Part } from '../api/types';
import { compact, number } from '../components/format';
import { cx } from '../components/ui';
import type { Panel } from '../router';
import { countsOf, type Fate } from './outlook';

// FATES are what became of a message in a request, in words.
const FATES: Record<Fate, { name: string; colour: string }> = {
  shown: { name: 'shown', colour: 'bg-chart-5' },
  stubbed: { name: 'only their size', colour: 'bg-chart-3' },
  covered: { name: 'covered by a summary', colour: 'bg-chart-2' },
  rule: { name: 'left out by a rule', colour: 'bg-chart-6' },
  dropped: { name: 'dropped: no more fits', colour: 'bg-bad' },
};

type Run = Omit<LeftOut, 'fate'> & { fate: Fate };

// Account says of every message of the record what the model can still read of it.
export function Account({ session, last, left, parts }: { session: ID; last: number; left: LeftOut[]; parts: Part[] }) {
  const stubs = stubsIn(parts);
  const end = Math.max(last, left.at(-1)?.to ?? 0, ...parts.map((part) => part.sequence ?? 0));
  const counts = countsOf(end, left, stubs.length);
  const fates = (Object.keys(FATES) as Fate[]).filter((fate) => counts[fate] > 0);
  return (
    <div className="space-y-2">
      {end > 0 && (
        <>
          <div aria-hidden className="flex h-2 gap-px overflow-hidden rounded-full bg-sunken">
            {fates.map((fate) => (
              <span key={fate} className={cx('h-full min-w-1', FATES[fate].colour)} style={{ flexGrow: counts[fate] }} />
            ))}
          </div>
          <ul aria-label="Messages" className="flex flex-wrap gap-x-3 gap-y-1 text-xs text-soft">
            {fates.map((fate) => (
              <li key={fate} className="flex items-center gap-1.5">
                <span aria-hidden className={cx('size-2 rounded-full', FATES[fate].colour)} />
                {number(counts[fate])} {FATES[fate].name}
              </li>
            ))}
          </ul>
        </>
      )}
      <LeftOutList session={session} panel="context" left={[...left, ...stubs].sort((a, b) => a.from - b.from)} />
    </div>
  );
}

// stubsIn lists the messages of which a request shows only the size.
function stubsIn(parts: Part[]): Run[] {
  const stubs = new Map<number, Run>();
  for (const { stubbed, sequence, tokens } of parts) {
    if (stubbed && sequence !== null) stubs.set(sequence, { fate: 'stubbed', from: sequence, to: sequence, count: 1, reason: 'a stub: its size, and how to read it', tokens });
  }
  return [...stubs.values()];
}

// LeftOutList lists the messages that the model does not see, and why.
export function LeftOutList({ session, left, panel }: { session: ID; left: Run[]; panel?: Panel }) {
  if (left.length === 0) return <p className="text-sm text-soft">Nothing is left out.</p>;
  return (
    <ul className="divide-y divide-line rounded-xl border border-line text-sm">
      {left.map((one) => (
        <li key={one.from} className="flex items-baseline gap-x-3 px-3 py-1.5">
          <Link to="/c/$id" params={{ id: session }} search={{ at: String(one.from), ...(panel ? { panel } : {}) }} className="flex w-16 shrink-0 items-baseline gap-1.5 font-mono text-xs text-accent hover:underline">
            <span aria-hidden className={cx('size-2 shrink-0 rounded-full', FATES[one.fate].colour)} />#{one.from}
            {one.to > one.from && `–${one.to}`}
          </Link>
          <span className="flex min-w-0 flex-1 flex-wrap items-baseline justify-between gap-x-3 gap-y-0.5">
            <span className="text-soft">{one.reason}</span>
            <span className="text-xs text-faint">
              {one.count > 1 && `${number(one.count)} messages`}
              {one.count > 1 && one.tokens !== null && ', '}
              {one.tokens !== null && `${compact(one.tokens)} tokens`}
            </span>
          </span>
        </li>
      ))}
    </ul>
  );
}
