import { expect, test } from 'vitest';
import type { SessionClient } from '../api/types';
import { presenceText } from './presence';

const client = (id: string, name: string): SessionClient => ({ client_id: `${id}-${Math.random()}`, principal: { kind: 'person', id, name }, seen_at: '', expires_at: '' });

test('one’s own windows are counted, others are named once', () => {
  const mine = client('me', 'Me');
  const anna = client('anna', 'Anna');
  expect(presenceText([], 'me')).toBe('');
  expect(presenceText([mine], 'me')).toBe('Open in another window');
  expect(presenceText([mine, mine, anna, anna], 'me')).toBe('Open in 2 other windows and by Anna');
  expect(presenceText(['a', 'b', 'c', 'd', 'e'].map((id) => client(id, id)), 'me')).toBe('Open by a, b, c and 2 more');
});
