import { useQuery } from '@tanstack/react-query';
import { request } from '../api/http';
import type { UsageRow } from '../api/types';
import { compact, money, number } from '../components/format';
import { Failed, Loading } from '../components/ui';

const DAYS = 30;
const DAY_MS = 86_400_000;

// Costs sums up what the conversations and transforms of a project took.
export function Costs({ project }: { project: string }) {
  const usage = useQuery({
    queryKey: ['usage', 'project', project],
    queryFn: ({ signal }) => request<{ total: UsageRow; data: UsageRow[] }>('/v1/usage', { query: { group: 'model', project, created_from: new Date(Date.now() - DAYS * DAY_MS).toISOString() }, signal }),
  });
  if (usage.isPending) return <Loading what="the costs" />;
  if (usage.isError) return <Failed error={usage.error} onRetry={() => void usage.refetch()} />;
  const { total, data } = usage.data;
  return (
    <div className="overflow-x-auto" tabIndex={0} role="region" aria-label="Costs by model">
      <table className="w-full text-left text-sm" data-costs>
        <thead className="text-xs text-faint">
          <tr>
            {['Model', 'Calls', 'Tokens in', 'Tokens out', 'Cost'].map((name, i) => (
              <th key={name} scope="col" className={i === 0 ? 'px-2 py-1 font-normal' : 'px-2 py-1 text-right font-normal'}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line">
          {[...data.map((row) => ({ ...row, name: row.model ?? 'unknown' })), { ...total, name: 'All' }].map((row) => (
            <tr key={row.name} className={row.name === 'All' ? 'font-medium' : undefined}>
              <th scope="row" className="px-2 py-1.5 font-normal">
                {row.name}
              </th>
              <td className="px-2 py-1.5 text-right">{number(row.calls)}</td>
              <td className="px-2 py-1.5 text-right">{compact(row.input_tokens)}</td>
              <td className="px-2 py-1.5 text-right">{compact(row.output_tokens)}</td>
              <td className="px-2 py-1.5 text-right">{money(row.cost)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
