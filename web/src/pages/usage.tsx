import { part } from '../live/arrive';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { ChartColumn } from 'lucide-react';
import { type ReactNode, Suspense, useEffect, useMemo } from 'react';
import { usageBy } from '../api/queries';
import type { UsageRow } from '../api/types';
import { compact, money, number } from '../components/format';
import { titled } from '../components/tab';
import { cx, Empty, Failed, Loading, Page } from '../components/ui';
import { costOf, daysFrom, inputOf, largestOf, type Layer, layersOf, savedOf, since, tokensOf } from '../usage/series';
import { nameOf, UsageTable } from '../usage/table';

const Chart = part(() => import('../usage/chart'), 'default');

const SPANS = [7, 30, 90] as const; // days
const GROUPS = [
  ['agent', 'Agents'],
  ['model', 'Models'],
  ['session', 'Conversations'],
  ['purpose', 'Purposes'],
] as const;

export function UsagePage() {
  const search = useSearch({ from: '/usage' });
  const navigate = useNavigate();
  const days = SPANS.find((span) => String(span) === search.days) ?? 30;
  const group = GROUPS.find(([key]) => key === search.by)?.[0] ?? 'model';
  const byDay = useQuery({ ...usageBy('day', since(days)), placeholderData: keepPreviousData });
  useEffect(() => {
    titled('Usage – Parley');
  }, []);
  const go = (change: { days?: string; by?: string }) => void navigate({ to: '/usage', search: { ...search, ...change }, replace: true });
  const total = byDay.data?.total;
  return (
    <Page
      wide
      title="Usage"
      about="Tokens and money of every model call, by UTC day. Unknown prices count as unknown, never as zero."
      actions={<Choice name="Time" options={SPANS.map((span) => [String(span), `${span} days`])} value={String(days)} onChange={(value) => go({ days: value })} />}
    >
      {byDay.isPending && <Loading what="usage" />}
      {byDay.isError && <Failed error={byDay.error} onRetry={() => void byDay.refetch()} />}
      {total?.calls === 0 && <Empty icon={<ChartColumn size={28} />} title="No model calls in this period." />}
      {total && total.calls > 0 && (
        <>
          <Figures total={total} />
          <div className="mt-8 mb-3">
            <Choice name="By" options={GROUPS} value={group} onChange={(value) => go({ by: value })} />
          </div>
          <Groups group={group} days={days} byDay={byDay.data!.data} total={total} />
        </>
      )}
    </Page>
  );
}

function Figures({ total }: { total: UsageRow }) {
  return (
    <dl className="grid grid-cols-2 gap-3 md:grid-cols-4">
      <Figure name="Cost" more={total.unpriced_calls > 0 ? `and ${number(total.unpriced_calls)} calls with unknown price` : total.estimated_calls > 0 ? `${money(total.estimated_cost)} of it estimated` : undefined}>
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
  );
}

// Groups shows the charts over time, and the same data as tables.
function Groups({ group, days, byDay, total }: { group: string; days: number; byDay: UsageRow[]; total: UsageRow }) {
  const sums = useQuery({ ...usageBy(group, since(days)), placeholderData: keepPreviousData });
  const daily = useQuery({ ...usageBy(group, since(days), true), placeholderData: keepPreviousData });
  const names = useMemo(() => daysFrom(since(days), days), [days]);
  const stacks = useMemo(() => {
    if (!sums.data || !daily.data) return null;
    const largest = largestOf(sums.data.data);
    const of = (measure: typeof tokensOf) => layersOf(names, largest, daily.data.data, byDay, measure, nameOf);
    return { tokens: of(tokensOf), cost: of(costOf), saved: savedOf(names, byDay), input: inputOf(names, byDay) };
  }, [names, sums.data, daily.data, byDay]);
  const failed = sums.isError ? sums : daily.isError ? daily : null;
  const shown = GROUPS.find(([key]) => key === group)![1];
  return (
    <>
      {failed && <Failed error={failed.error} onRetry={() => void failed.refetch()} />}
      {!stacks && !failed && <Loading what="the charts" />}
      {stacks && (
        <Suspense fallback={<Loading what="the charts" />}>
          <div className="grid gap-4 lg:grid-cols-2">
            <Over wide name="Tokens by day" days={names} layers={stacks.tokens} write={compact} />
            {total.cost > 0 && <Over name="Cost by day" days={names} layers={stacks.cost} write={money} />}
            {total.cost > 0 && <Over name="Saved by caches, by day" days={names} layers={stacks.saved} write={money} />}
            <Over wide name="Input by day" more={`${money(total.saved)} saved by caches`} days={names} layers={stacks.input} write={compact} />
          </div>
        </Suspense>
      )}
      {sums.data && (
        <section className="mt-8">
          <h2 className="sr-only">By {shown.toLowerCase()}</h2>
          <UsageTable name={shown} rows={sums.data.data} />
        </section>
      )}
      <details className="mt-6 text-sm">
        <summary className="rounded-lg py-1 text-soft hover:text-text">The days as a table</summary>
        <UsageTable name="Day" rows={byDay} />
      </details>
    </>
  );
}

function Over({ name, more, wide, days, layers, write }: { name: string; more?: string; wide?: boolean; days: string[]; layers: Layer[]; write: (value: number) => string }) {
  return (
    <section className={cx('min-w-0 rounded-2xl border border-line p-4', wide && 'lg:col-span-2')}>
      <h2 className="mb-2 flex justify-between gap-3 text-sm font-medium">
        {name} {more && <span className="font-normal text-soft">{more}</span>}
      </h2>
      <Chart days={days} layers={layers} write={write} about={`${name}, ${days[0]} to ${days.at(-1)}: ${layers.map((layer) => `${layer.name} ${write(layer.values.reduce((sum, value) => sum + value, 0))}`).join(', ')}. The tables below have the numbers.`} />
    </section>
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
