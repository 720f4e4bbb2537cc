import { expect, test } from 'vitest';
import type { StreamEvent } from '../api/events';
import type { Call, Message } from '../api/types';
import { LiveMessage } from '../live/message';
import { briefOf } from './list';
import { chosen, countsOf, entriesOf, shows, written } from './rows';

let time = 0;
const said = (fields: Partial<Message>) =>
  new LiveMessage({ id: `m${++time}`, turn_id: 't', step: 1, role: 'assistant', status: 'completed', content: {}, tool_call_id: null, tool_name: null, created_at: new Date(time).toISOString(), ...fields } as Message);
const words = (text: string) => ({ content: { text } as Message['content'] });

test('an answer that only calls tools says which', () => {
  const first = said(words(''));
  const calls = ['current_time', 'read_file'].map((tool_name) => said({ role: 'tool_call', tool_name, tool_call_id: tool_name }));
  const entries = entriesOf([first, ...calls, said({ step: 2, ...words('It is noon.') }), said({ step: 3 })], [], []);
  expect(entries.map(briefOf)).toEqual(['calls current_time, read_file', '', '', 'It is noon.', '']);
});

test('the address holds the kinds shown unless they are the default', () => {
  expect(chosen(undefined)).toEqual(['human', 'assistant', 'tool', 'calls']);
  expect(chosen('calls,human,nonsense')).toEqual(['human', 'calls']);
  expect(chosen('none')).toEqual([]);
  for (const only of [chosen(undefined), chosen('calls,human'), chosen('none'), [...chosen(undefined), 'events' as const]]) expect(chosen(written(only))).toEqual(only);
  expect(written(chosen(undefined))).toBeUndefined();
});

test('rows are counted by kind, whether they are shown or not', () => {
  const call = { id: 'c', created_at: new Date(5).toISOString() } as Call;
  const event = { sequence: 1, type: 'session.started', created_at: new Date(6).toISOString(), data: { turn_id: 't', attempt: 1 } } as StreamEvent;
  const entries = entriesOf([said({ role: 'user' }), said({}), said({})], [call], [event]);
  expect(countsOf(entries)).toEqual({ human: 1, assistant: 2, tool: 0, calls: 1, events: 1 });
  expect(entries.filter((entry) => shows(entry, chosen(undefined)))).toHaveLength(4);
});
