import { expect, test } from 'vitest';
import type { Message } from '../api/types';
import { entriesOf, type Filter } from './chapters';

const row = (sequence: number, role: Message['role'], fields: Partial<Message> = {}, content: object = {}) =>
  ({ id: `m${sequence}`, sequence, role, tool_name: null, tool_call_id: null, internal: false, error: null, status: 'completed', content: { text: `text ${sequence}`, ...content }, ...fields }) as Message;

const newestFirst = [
  row(10, 'tool_result', { tool_call_id: 'b' }, { success: false }),
  row(9, 'tool_call', { tool_name: 'write', tool_call_id: 'b' }, { arguments: { to: 'a.md' } }),
  row(8, 'user'),
  row(7, 'assistant'),
  row(6, 'assistant', {}, { text: '' }),
  row(5, 'tool_call', { tool_name: 'read', tool_call_id: 'a' }),
  row(4, 'tool_call', { tool_name: 'read', tool_call_id: 'c' }),
  row(3, 'user', { internal: true }),
  row(2, 'user'),
  row(1, 'tool_call', { tool_name: 'cut off' }),
];
const lines = (filter: Filter, roles: Message['role'][]) => entriesOf(filter, newestFirst.filter((message) => roles.includes(message.role)));

test('calls belong to the question before them', () => {
  expect(lines('human', ['user', 'tool_call']).map(({ message, tools }) => [message.sequence, [...tools]])).toEqual([
    [2, [['read', 2]]],
    [8, [['write', 1]]],
  ]);
});

test('answers with text are listed, and calls with their arguments and whether they failed', () => {
  expect(lines('assistant', ['assistant']).map(({ words }) => words)).toEqual(['text 7']);
  expect(lines('tool', ['tool_call', 'tool_result']).map(({ words, failed }) => [words, failed])).toEqual([
    ['cut off {}', false],
    ['read {}', false],
    ['read {}', false],
    ['write {"to":"a.md"}', true],
  ]);
});
