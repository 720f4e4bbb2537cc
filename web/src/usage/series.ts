import type { UsageRow } from '../api/types';

const DAY_MS = 86_400_000;
const NAMED = 5; // groups with a colour of their own; the rest is one

// since is the beginning of the day a number of days ago, so that the address is stable for a whole day.
export function since(days: number, now = new Date()): string {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()) - (days - 1) * DAY_MS).toISOString();
}

// daysFrom names a number of days from one on.
export function daysFrom(from: string, days: number): string[] {
  const first = Date.parse(from);
  return Array.from({ length: days }, (_, i) => new Date(first + i * DAY_MS).toISOString().slice(0, 10));
}

// Layer is one colour of a stacked chart: a value for each day.
export interface Layer {
  name: string;
  values: number[];
  colour?: Colour; // default: by its position
}

export type Colour = 'good' | 'rest';

export type Measure = (row: UsageRow) => number;

export const tokensOf: Measure = (row) => row.input_tokens + row.output_tokens;
export const costOf: Measure = (row) => row.cost;

export function keyOf(row: UsageRow): string {
  return row.agent_id ?? row.session_id ?? row.model ?? '';
}

// largestOf returns the groups with colours of their own, the same in every chart.
export function largestOf(groups: UsageRow[]): UsageRow[] {
  return groups.toSorted((a, b) => b.cost - a.cost || tokensOf(b) - tokensOf(a)).slice(0, NAMED);
}

// layersOf stacks the days of the largest groups; the rest of each day is the others'.
export function layersOf(days: string[], largest: UsageRow[], daily: UsageRow[], byDay: UsageRow[], measure: Measure, nameOf: (row: UsageRow) => string): Layer[] {
  const at = new Map(days.map((day, i) => [day, i]));
  const place = (row: UsageRow) => at.get(row.day?.slice(0, 10) ?? '') ?? -1;
  const layers = new Map(largest.map((row) => [keyOf(row), { name: nameOf(row), values: days.map(() => 0) }]));
  const others: Layer = { name: 'others', values: days.map(() => 0), colour: 'rest' };
  for (const row of byDay) if (place(row) >= 0) others.values[place(row)]! += measure(row);
  for (const row of daily) {
    const layer = layers.get(keyOf(row));
    if (!layer || place(row) < 0) continue;
    layer.values[place(row)]! += measure(row);
    others.values[place(row)]! -= measure(row);
  }
  others.values = others.values.map((value) => (value > 1e-9 ? value : 0)); // sums of money are not exact
  return others.values.some((value) => value > 0) ? [...layers.values(), others] : [...layers.values()];
}

// inputOf stacks the days' input by its source.
export function inputOf(days: string[], byDay: UsageRow[]): Layer[] {
  return [
    { ...daysOf('from caches', days, byDay, (row) => row.cached_tokens), colour: 'good' },
    daysOf('new input', days, byDay, (row) => row.input_tokens - row.cached_tokens),
  ];
}

// savedOf is what caches saved; negative if filling them cost more.
export function savedOf(days: string[], byDay: UsageRow[]): Layer[] {
  return [{ ...daysOf('saved', days, byDay, (row) => row.saved), colour: 'good' }];
}

function daysOf(name: string, days: string[], byDay: UsageRow[], measure: Measure): Layer {
  const found = new Map(byDay.map((row) => [row.day?.slice(0, 10), row]));
  return { name, values: days.map((day) => (found.has(day) ? measure(found.get(day)!) : 0)) };
}

// stacked adds up layers from the bottom: the height of each one's upper edge, by day.
export function stacked(layers: Layer[]): number[][] {
  const sums: number[][] = [];
  for (const { values } of layers) {
    const below = sums.at(-1);
    sums.push(values.map((value, i) => value + (below?.[i] ?? 0)));
  }
  return sums;
}
