import { Link } from '@tanstack/react-router';
import type { ID, LeftOut } from '../api/types';
import { compact, number } from '../components/format';

// LeftOutList lists the messages that the model does not see, and why.
export function LeftOutList({ session, left }: { session: ID; left: LeftOut[] }) {
  if (left.length === 0) return <p className="text-sm text-soft">Nothing: every message of the record is shown.</p>;
  return (
    <ul className="divide-y divide-line rounded-xl border border-line text-sm">
      {left.map((one) => (
        <li key={one.from} className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5 px-3 py-1.5">
          <Link to="/c/$id" params={{ id: session }} search={{ at: String(one.from) }} className="w-16 shrink-0 font-mono text-xs text-accent hover:underline">
            #{one.from}
            {one.to > one.from && `–${one.to}`}
          </Link>
          <span className="min-w-32 flex-1 text-soft">{one.reason}</span>
          <span className="text-xs text-faint">
            {one.count > 1 && `${number(one.count)} messages`}
            {one.count > 1 && one.tokens !== null && ', '}
            {one.tokens !== null && `${compact(one.tokens)} tokens`}
          </span>
        </li>
      ))}
    </ul>
  );
}
