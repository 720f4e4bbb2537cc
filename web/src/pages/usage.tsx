import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { ChartColumn } from 'lucide-react';
import { type ReactNode, useEffect } from 'react';
import { usageBy } from '../api/queries';
import type { UsageRow } from '../api/types';
import { compact, money, number } from '../components/format';
import { cx, Empty, Failed, Loading, Page } from '../components/ui';

const SPANS = [7, 30, 90] as const; // days
const GROUPS = [
  ['agent', 'Agents'],
  ['model', 'Models'],
  ['session', 'Conversations'],
] as const;
const DAY_MS = 86_400_000;

// since is the beginning of the day so many days ago, so that it is one address for a whole day.
function since(days: number): string {
  const today = new Date();
  return new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate()) - (days - 1) * DAY_MS).toISOString();
}

export function UsagePage() {
  const search = useSearch({ from: '/usage' });
  const navigate = useNavigate();
  const days = SPANS.find((span) => String(span) === search.days) ?? 30;
  const group = GROUPS.find(([key]) => key === search.by)?.[0] ?? 'model';
  const byDay = useQuery(usageBy('day', since(days)));
  const byGroup = useQuery(usageBy(group, since(days)));
  useEffect(() => {
    document.title = 'Usage – Parley';
  }, []);
  const go = (change: { days?: string; by?: string }) => void navigate({ to: '/usage', search: { ...search, ...change }, replace: true });
  const total = byDay.data?.total;
  return (
    <Page
      wide
      title="Usage"
      about="Tokens and money of every model call. Unknown prices count as unknown, never as nothing."
      actions={<Choice name="Time" options={SPANS.map((span) => [String(span), `${span} days`])} value={String(days)} onChange={(value) => go({ days: value })} />}
    >
      {byDay.isPending && <Loading what="usage" />}
      {byDay.isError && <Failed error={byDay.error} onRetry={() => void byDay.refetch()} />}
      {total?.calls === 0 && <Empty icon={<ChartColumn size={28} />} title="No model was called in this time." />}
      {total && total.calls > 0 && (
        <>
          <dl className="grid grid-cols-2 gap-3 md:grid-cols-4">
            <Figure name="Cost" more={total.unpriced_calls > 0 ? `and ${number(total.unpriced_calls)} calls of unknown price` : undefined}>
              {money(total.cost)}
            </Figure>
            <Figure name="Saved by caches" more={`${number(total.cache_hits)} of ${number(total.calls)} calls had a hit`}>
              {money(total.saved)}
            </Figure>
            <Figure name="Tokens in" more={total.input_tokens > 0 ? `${Math.round((100 * total.cached_tokens) / total.input_tokens)} % from caches` : undefined}>
              {compact(total.input_tokens)}
            </Figure>
            <Figure name="Tokens out" more={`${number(total.calls)} calls`}>
              {compact(total.output_tokens)}
            </Figure>
          </dl>
          <Days rows={byDay.data!.data} days={days} />
          <div className="mt-10 mb-3">
            <Choice name="By" options={GROUPS} value={group} onChange={(value) => go({ by: value })} />
          </div>
          {byGroup.isError && <Failed error={byGroup.error} onRetry={() => void byGroup.refetch()} />}
          {byGroup.data && <Groups rows={byGroup.data.data} />}
        </>
      )}
    </Page>
  );
}

function Choice({ name, options, value, onChange }: { name: string; options: readonly (readonly [string, string])[]; value: string; onChange: (value: string) => void }) {
  return (
    <div role="group" aria-label={name} className="inline-flex rounded-lg border border-line p-0.5">
      {options.map(([key, label]) => (
        <button
          key={key}
          type="button"
          aria-pressed={key === value}
          onClick={() => onChange(key)}
          className={cx('rounded-md px-3 py-1 text-sm', key === value ? 'bg-accent-soft font-medium text-accent-strong' : 'text-soft hover:text-text')}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

function Figure({ name, more, children }: { name: string; more?: string; children: ReactNode }) {
  return (
    <div className="rounded-2xl border border-line p-4">
      <dt className="text-xs text-faint">{name}</dt>
      <dd className="mt-1 text-xl font-semibold tracking-tight">{children}</dd>
      {more && <dd className="mt-0.5 text-xs text-soft">{more}</dd>}
    </div>
  );
}

// Days is a bar for each day: new input, cached input and output, to one scale.
function Days({ rows, days }: { rows: UsageRow[]; days: number }) {
  const found = new Map(rows.map((row) => [row.day?.slice(0, 10), row]));
  const first = Date.parse(since(days));
  const all = Array.from({ length: days }, (_, i) => {
    const day = new Date(first + i * DAY_MS).toISOString().slice(0, 10);
    return { day, row: found.get(day) };
  });
  const most = Math.max(1, ...rows.map((row) => row.input_tokens + row.output_tokens));
  const share = (tokens: number) => `${(100 * tokens) / most}%`;
  return (
    <figure className="mt-8">
      <figcaption className="mb-2 flex flex-wrap gap-4 text-xs text-soft">
        <span className="font-medium text-text">Tokens by day</span>
        <Legend colour="bg-accent">new input</Legend>
        <Legend colour="bg-good">from caches</Legend>
        <Legend colour="bg-warn">output</Legend>
        <span className="ml-auto">at most {compact(most)}</span>
      </figcaption>
      <ol className="flex h-40 items-end gap-px border-b border-line">
        {all.map(({ day, row }) => (
          <li key={day} className="flex h-full flex-1 flex-col justify-end" title={row ? `${day}: ${number(row.input_tokens)} in, ${number(row.output_tokens)} out, ${money(row.cost)}` : day}>
            <span className="sr-only">
              {day}: {row ? `${row.input_tokens} tokens in, ${row.output_tokens} out, ${money(row.cost)}` : 'nothing'}
            </span>
            {row && (
              <>
                <span className="bg-warn" style={{ height: share(row.output_tokens) }} />
                <span className="bg-good" style={{ height: share(row.cached_tokens) }} />
                <span className="bg-accent" style={{ height: share(row.input_tokens - row.cached_tokens) }} />
              </>
            )}
          </li>
        ))}
      </ol>
      <p aria-hidden className="mt-1 flex justify-between text-xs text-faint">
        <span>{all[0]?.day}</span>
        <span>{all.at(-1)?.day}</span>
      </p>
    </figure>
  );
}

function Legend({ colour, children }: { colour: string; children: string }) {
  return (
    <span className="flex items-center gap-1.5">
      <span aria-hidden className={cx('size-2.5 rounded-sm', colour)} /> {children}
    </span>
  );
}

function Groups({ rows }: { rows: UsageRow[] }) {
  const most = Math.max(1, ...rows.map((row) => row.input_tokens + row.output_tokens));
  return (
    <div className="overflow-x-auto" tabIndex={0} role="region" aria-label="Usage by group">
      <table className="w-full min-w-160 text-left text-sm">
        <thead className="border-b border-line text-xs text-faint">
          <tr>
            <th className="py-2 pr-4 font-medium">Name</th>
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
            <tr key={row.agent_id ?? row.session_id ?? row.model ?? row.day}>
              <td className="max-w-64 truncate py-2 pr-4">{nameOf(row)}</td>
              <td className="w-40 pr-4">
                <span aria-hidden className="block h-2.5 rounded bg-accent" style={{ width: `${(100 * (row.input_tokens + row.output_tokens)) / most}%` }} />
              </td>
              <td className="pr-4 text-right">{compact(row.input_tokens)}</td>
              <td className="pr-4 text-right">{compact(row.cached_tokens)}</td>
              <td className="pr-4 text-right">{compact(row.output_tokens)}</td>
              <td className="pr-4 text-right">{number(row.calls)}</td>
              <td className="pr-4 text-right">{money(row.saved)}</td>
              <td className="text-right">
                {money(row.cost)}
                {row.unpriced_calls > 0 && <span className="text-faint"> + ?</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function nameOf(row: UsageRow): ReactNode {
  if (row.session_id) {
    return (
      <Link to="/c/$id" params={{ id: row.session_id }} className="text-accent hover:underline">
        {row.name ?? 'a conversation'}
      </Link>
    );
  }
  if (row.agent_id) {
    return (
      <Link to="/agents/$id" params={{ id: row.agent_id }} className="text-accent hover:underline">
        {row.name ?? 'an agent'}
      </Link>
    );
  }
  return <span className="font-mono text-[13px]">{row.model ?? row.name}</span>;
}
