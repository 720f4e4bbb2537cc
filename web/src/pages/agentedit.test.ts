import { afterEach, expect, test, vi } from 'vitest';
import type { Agent } from '../api/types';
import { editedAgent, editOf, keepEdit } from './agentedit';

const kept = new Map<string, string>();
vi.stubGlobal('localStorage', { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, text: string) => kept.set(key, text), removeItem: (key: string) => kept.delete(key) });
afterEach(() => kept.clear());

const agent = { id: 'a', version: 1, name: 'Brief', system_prompt: 'Be brief.', temperature: null, tools: ['current_time'] } as unknown as Agent;

test('an edit is kept until it is undone, and applies to any later version', () => {
  const draft = { ...agent, system_prompt: 'Be long.', temperature: 0.5 };
  expect(editOf(agent, draft)).toEqual({ system_prompt: 'Be long.', temperature: 0.5 });
  keepEdit(agent, draft);
  expect(editedAgent(agent)).toEqual(draft);
  const next = { ...agent, version: 2, name: 'Terse', tools: [] };
  expect(editedAgent(next)).toEqual({ ...next, system_prompt: 'Be long.', temperature: 0.5 });
  expect(editedAgent({ ...agent, id: 'b' })).toEqual({ ...agent, id: 'b' });
  keepEdit(agent, { ...agent });
  expect(kept.size).toBe(0);
});
