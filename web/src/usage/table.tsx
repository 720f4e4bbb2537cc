import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { UsageRow } from '../api/types';
import { compact, money, number } from '../components/format';

// UsageTable lists sums, each with a bar for its share of the tokens.
export function UsageTable({ name, rows }: { name: string; rows: UsageRow[] }) {
  const most = Math.max(1, ...rows.map((row) => row.input_tokens + row.output_tokens));
  return (
    <div className="overflow-x-auto" tabIndex={0} role="region" aria-label={`Usage by ${name.toLowerCase()}`}>
      <table className="w-full min-w-160 text-left text-sm">
        <thead className="border-b border-line text-xs text-faint">
          <tr>
            <th className="py-2 pr-4 font-medium">{name}</th>
            <th className="pr-4 font-medium">Tokens</th>
            <th className="pr-4 text-right font-medium">In</th>
            <th className="pr-4 text-right font-medium">Cached</th>
            <th className="pr-4 text-right font-medium">Out</th>
            <th className="pr-4 text-right font-medium">Calls</th>
            <th className="pr-4 text-right font-medium">Saved</th>
            <th className="text-right font-medium">Cost</th>
          </tr>
        </thead>
        <tbody className="divide-y divide-line">
          {rows.map((row) => (
            <tr key={row.agent_id ?? row.session_id ?? row.model ?? row.purpose ?? row.day}>
              <td className="max-w-64 truncate py-2 pr-4">{linkOf(row)}</td>
              <td className="w-40 pr-4">
                <span aria-hidden className="block h-2.5 rounded bg-chart-1" style={{ width: `${(100 * (row.input_tokens + row.output_tokens)) / most}%` }} />
              </td>
              <td className="pr-4 text-right">{compact(row.input_tokens)}</td>
              <td className="pr-4 text-right">{compact(row.cached_tokens)}</td>
              <td className="pr-4 text-right">{compact(row.output_tokens)}</td>
              <td className="pr-4 text-right">{number(row.calls)}</td>
              <td className="pr-4 text-right">{money(row.saved)}</td>
              <td className="text-right">
                {money(row.cost)}
                {row.estimated_calls > 0 && <span className="block text-xs text-faint">{row.estimated_calls === row.calls ? 'estimated' : `${money(row.estimated_cost)} of it estimated`}</span>}
                {row.unpriced_calls > 0 && <span className="text-faint"> + ?</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const PURPOSES = { step: 'Conversations', compaction: 'Summaries', knowledge: 'Knowledge', replay: 'Replays', dry_run: 'Dry runs' } as const;

export function nameOf(row: UsageRow): string {
  if (row.purpose) return PURPOSES[row.purpose];
  return row.name || row.model || row.day?.slice(0, 10) || 'unnamed';
}

function linkOf(row: UsageRow): ReactNode {
  const look = 'text-accent hover:underline';
  if (row.session_id) {
    return (
      <Link to="/c/$id" params={{ id: row.session_id }} className={look}>
        {nameOf(row)}
      </Link>
    );
  }
  if (row.agent_id) {
    return (
      <Link to="/agents/$id" params={{ id: row.agent_id }} className={look}>
        {nameOf(row)}
      </Link>
    );
  }
  return <span className="font-mono text-[13px]">{nameOf(row)}</span>;
}
