import { expect, test } from 'vitest';
import { countWaits } from '../components/waits';
import { stateOf } from './item';
import { withOpened } from './list';

const item = (id: string, created_at: string) => ({ id, created_at });

test('the open item stays in a list that no longer has it, at its time', () => {
  const [late, early] = [item('late', '2026-03-02'), item('early', '2026-03-01')];
  expect(withOpened([late, early], undefined)).toEqual([late, early]);
  expect(withOpened([late, early], item('early', '2026-03-01'))).toEqual([late, early]);
  const order = (at: string) => withOpened([late, early], item('open', at)).map((one) => one.id);
  expect(order('2026-03-03')).toEqual(['open', 'late', 'early']);
  expect(order('2026-03-01T12')).toEqual(['late', 'open', 'early']);
  expect(order('2026-02-01')).toEqual(['late', 'early', 'open']);
});

test('an approval that waits counts once, whether or not its item is read', () => {
  const waits = { type: 'approval' as const, answered_at: null, closed_at: null };
  expect(countWaits(1, 0, [waits])).toBe(1);
  expect(countWaits(1, 0, [])).toBe(1);
  expect(countWaits(0, 2, [{ ...waits, closed_at: '2026-03-01' }, { ...waits, type: 'briefing' }])).toBe(4);
});

test.each([
  ['briefing', null, null, undefined],
  ['alert', null, null, 'Alert'],
  ['question', null, null, 'Waits for you'],
  ['question', '2026-03-01', null, 'Answered'],
  ['approval', null, '2026-03-01', 'Closed'],
] as const)('a %s answered at %s and closed at %s says %s', (type, answered_at, closed_at, says) => {
  expect(stateOf({ type, answered_at, closed_at })?.name).toBe(says);
});
