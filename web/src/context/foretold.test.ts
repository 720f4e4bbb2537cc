import { expect, test } from 'vitest';
import { saysOf } from './foretold';

const likely = { with_id: 'a call', tokens: 12_000, share: 0.9, likely: true, says: '' };
const cost = { input: 0.04, input_cached: 0.01, output_most: 1, output_tokens_most: 1000 };
const change = (fields = {}) => ({ estimated_tokens: 12_500, cache: likely, cost, lost_tokens: 0, extra: 0, says: '', ...fields });
const shown = (fields = {}, of = {}) => ({ estimated_tokens: 12_500, cache: likely, cost, change: change(of), ...fields });
const pin = { marks: [{ message_id: 'one', pinned: true }] };

test('a change tells what is sent again at full price, and what that costs', () => {
  const lost = { cache: { ...likely, tokens: 0 } };
  expect(saysOf(pin, shown(lost, { lost_tokens: 12_000, extra: 0.0301 }))).toBe('Resends 12,000 tokens at full price: about $0.0301 more with the next message.');
  expect(saysOf(pin, shown({ ...lost, estimated_tokens: 900 }, { lost_tokens: 12_000, extra: -0.02 }))).toBe('Resends 400 tokens at full price, but the next message costs about $0.02 less.');
  expect(saysOf(pin, shown(lost, { lost_tokens: 12_000, extra: null })), 'an unknown price').toBe('Resends 12,000 tokens at full price with the next message.');
});

test('tokens that leave the request are not sent again', () => {
  expect(saysOf(pin, shown({ estimated_tokens: 900, cache: { ...likely, tokens: 800 } }, { lost_tokens: 11_200, extra: -0.001 }))).toBe('The next message costs about $0.001 less.');
});

test('nothing is lost of a cache that is kept, or of one that has lapsed', () => {
  expect(saysOf(pin, shown())).toBe('Costs nothing more: what is cached stays cached.');
  expect(saysOf(pin, shown({ cache: { ...likely, tokens: 11_000 }, estimated_tokens: 11_500 }, { lost_tokens: 1_000 })), 'it only leaves').toBe('Costs nothing more.');
  expect(saysOf(pin, shown({}, { cache: { ...likely, tokens: 0 } })), 'nothing is cached').toBe('Costs nothing more.');
  const lapsed = { ...likely, likely: false };
  expect(saysOf(pin, shown({ cache: { ...lapsed, tokens: 0 } }, { cache: lapsed, lost_tokens: 12_000 }))).toBe('');
  expect(saysOf(pin, shown({}, { cache: lapsed, extra: 0.002 }))).toBe('The next message costs about $0.002 more.');
});

test('an edit tells what its own request costs', () => {
  const edit = { edit: { message_id: 'one', content: { parts: [] } } };
  const early = shown({ estimated_tokens: 3_456, cache: { ...likely, tokens: 2_100 } }, { lost_tokens: 9_900, extra: -0.01 });
  expect(saysOf(edit, early)).toBe('Sends 1,360 tokens at full price, 2,100 from the cache: about $0.01.');
  expect(saysOf(edit, { ...early, cache: { ...likely, likely: false } })).toBe('Sends 3,460 tokens at full price: about $0.04.');
  expect(saysOf(edit, { ...early, cost: { ...cost, input_cached: null } })).toBe('Sends 1,360 tokens at full price, 2,100 from the cache.');
});

test('before the first call there is nothing to lose', () => {
  expect(saysOf(pin, shown({}, { cache: { ...likely, with_id: null } }))).toBe('');
});
