import { expect, test } from 'vitest';
import type { UsageRow } from '../api/types';
import { daysFrom, inputOf, largestOf, layersOf, since, stacked, tokensOf } from './series';

const row = (fields: Partial<UsageRow>): UsageRow => ({
  agent_id: null, session_id: null, day: null, model: null, name: null, calls: 1, cost: 0, unpriced_calls: 0, estimated_calls: 0, estimated_cost: 0, purpose: null, cache_hits: 0, cache_write_tokens: 0, saved: 0,
  input_tokens: 0, output_tokens: 0, cached_tokens: 0, unknown_calls: 0, ...fields,
});
const days = daysFrom('2026-02-27T00:00:00.000Z', 3);

test('days are counted in UTC, over the end of a month', () => {
  expect(days).toEqual(['2026-02-27', '2026-02-28', '2026-03-01']);
  expect(since(7, new Date('2026-03-01T23:59:00Z'))).toBe('2026-02-23T00:00:00.000Z');
});

test('the largest groups have layers, and all of a day adds up', () => {
  const groups = Array.from({ length: 9 }, (_, i) => row({ model: `m${i}`, input_tokens: 10 + i }));
  const daily = groups.map((one) => row({ ...one, day: '2026-02-28T00:00:00.000Z' }));
  const whole = groups.reduce((sum, one) => sum + one.input_tokens, 0);
  const layers = layersOf(days, largestOf(groups), daily, [row({ day: '2026-02-28T00:00:00.000Z', input_tokens: whole })], tokensOf, (one) => one.model!);
  expect(layers.map((one) => one.name)).toEqual(['m8', 'm7', 'm6', 'm5', 'm4', 'others']);
  expect(stacked(layers).at(-1)).toEqual([0, whole, 0]);
});

test('without others they have no layer', () => {
  const one = row({ model: 'm', input_tokens: 5, day: '2026-03-01T00:00:00.000Z' });
  expect(layersOf(days, [one], [one], [one], tokensOf, (each) => each.model!)).toEqual([{ name: 'm', values: [0, 0, 5] }]);
});

test('input is split into cached and new tokens', () => {
  const [cached, fresh] = inputOf(days, [row({ day: '2026-02-27T00:00:00.000Z', input_tokens: 10, cached_tokens: 4 })]);
  expect([cached!.values[0], fresh!.values[0]]).toEqual([4, 6]);
});
