import { expect, test } from 'vitest';
import type { TeamMember } from '../api/types';
import { isOpen, localInput, receiverOf, type Sent, statusOf, timingInput, timingOf, treeOf, untilDue, waitsFor, whenOf, workSessions } from './words';

const member = (id: string, lead: string | null, depth: number, sent: Partial<Sent>[] = []) =>
  ({ agent_id: id, name: id.toUpperCase(), lead_id: lead, depth, open_delegations: sent }) as TeamMember;

test('members stand below their leads; a lead that has one itself is at the top of its own team', () => {
  const [top, ...more] = treeOf([member('b', 'a', 0), member('c', 'b', 1), member('d', 'b', 1), member('e', 'c', 2)]);
  expect(more).toEqual([]);
  expect(top!.below.map((one) => [one.member.agent_id, one.below.map((below) => below.member.agent_id)])).toEqual([
    ['c', ['e']],
    ['d', []],
  ]);
});

test('everyone for whom a member waits is named once, and people by the name of the owner', () => {
  const sent = [
    { to_agent_id: 'b', to_principal_id: null },
    { to_agent_id: 'a', to_principal_id: 'p' },
    { to_agent_id: 'b', to_principal_id: null },
    { to_agent_id: 'z', to_principal_id: null },
  ];
  const team = { members: [member('a', null, 0, sent), member('b', 'a', 1)], owner_name: 'Ada' };
  expect(waitsFor(team, team.members[0]!)).toBe('B, Ada, an agent of another team');
  expect(waitsFor(team, team.members[1]!)).toBe('');
  expect(receiverOf({ ...team, owner_name: '' }, sent[1]!)).toBe('the owner');
});

test.each([
  ['task', 'delivered', true, 'Waits its turn'],
  ['question', 'running', true, 'At work'],
  ['report', 'sent', true, 'Sent'],
  ['report', 'delivered', false, 'Delivered'],
  ['briefing', 'delivered', false, 'Delivered'],
  ['task', 'answered', false, 'Answered'],
  ['task', 'expired', false, 'Expired'],
] as const)('a %s that is %s: open %s, “%s”', (kind, status, open, name) => {
  expect(isOpen({ kind, status })).toBe(open);
  expect(statusOf({ kind, status, to_principal_id: null }).name).toBe(name);
});

test('a question that lies in an inbox waits for an answer, not for its turn', () => {
  expect(statusOf({ kind: 'question', status: 'delivered', to_principal_id: 'p' }).name).toBe('Waits for an answer');
  expect(statusOf({ kind: 'briefing', status: 'delivered', to_principal_id: 'p' }).name).toBe('Delivered');
});

test('a timing is sent with what its kind needs and nothing else, once it says when', () => {
  const timing = { kind: 'cron' as const, cron: ' 0 9 * * * ', every: '90m', at: '2026-05-01T07:30', zone: 'Europe/Berlin', jitter: '' };
  expect(timingInput(timing)).toEqual({ cron: '0 9 * * *', time_zone: 'Europe/Berlin' });
  expect(timingInput({ ...timing, kind: 'every', jitter: '5m' })).toEqual({ every: '90m', jitter: '5m' });
  expect(timingInput({ ...timing, kind: 'at' })).toEqual({ at: new Date(2026, 4, 1, 7, 30).toISOString() });
  for (const kind of ['cron', 'every', 'at'] as const) expect(timingInput({ ...timing, kind, cron: ' ', every: '', at: '' })).toBeNull();
});

test('a stored schedule is edited as it is', () => {
  const at = new Date(2026, 10, 3, 4, 5).toISOString();
  expect(localInput(at)).toBe('2026-11-03T04:05');
  const stored = { cron: null, every: null, at, time_zone: 'UTC', jitter: '1m' };
  expect(timingInput(timingOf(stored))).toEqual({ at, jitter: '1m' });
  const daily = { ...stored, at: null, cron: '1 2 * * *', time_zone: 'Asia/Tokyo', jitter: null };
  expect(timingInput(timingOf(daily))).toEqual({ cron: '1 2 * * *', time_zone: 'Asia/Tokyo' });
  expect(whenOf(daily)).toBe('1 2 * * * (Asia/Tokyo)');
});

test('work sessions are counted in words', () => {
  expect([0, 1, 1200].map(workSessions)).toEqual(['0 work sessions', '1 work session', '1.2K work sessions']);
});

test.each([
  [[], false],
  [[null, null], false],
  [['2026-03-01T12:01:00Z', null, '2026-03-01T12:00:10Z'], 11_500],
  [['2026-03-01T11:59:59Z'], 500],
  [['2026-03-01T11:00:00Z'], 5_000],
  [['2026-06-01T12:00:00Z'], 3_600_000],
])('runs at %j are seen to after %j ms', (times, wait) => {
  expect(untilDue(times, Date.parse('2026-03-01T12:00:00Z'))).toBe(wait);
});
