import { expect, test } from 'vitest';
import type { Message } from '../api/types';
import { chaptersOf } from './outline';

const row = (sequence: number, role: Message['role'], tool_name: string | null = null, internal = false) => ({ id: `m${sequence}`, sequence, role, tool_name, internal }) as Message;

test('calls belong to the question before them', () => {
  const newestFirst = [row(9, 'tool_call', 'write'), row(8, 'user'), row(5, 'tool_call', 'read'), row(4, 'tool_call', 'read'), row(3, 'user', null, true), row(2, 'user'), row(1, 'tool_call', 'cut off')];
  expect(chaptersOf(newestFirst).map(({ question, tools }) => [question.sequence, [...tools]])).toEqual([
    [2, [['read', 2]]],
    [8, [['write', 1]]],
  ]);
});
