import { expect, test } from 'vitest';
import type { Session } from '../api/types';
import { familiesOf } from './families';

const session = (id: string, parent: string | null = null, pinned = false) => ({ id, parent_session_id: parent, forked_through: parent ? 1 : null, pinned }) as Session;
const shape = (rows: Session[]) => familiesOf(rows).map(({ session: origin, branches, newest }) => [origin.id, branches.map((one) => one.id), newest.id]);

test('branches fold under the conversation that they began in, at the place of the newest', () => {
  expect(shape([session('c', 'b'), session('x'), session('b', 'a'), session('a')])).toEqual([['a', ['c', 'b'], 'c'], ['x', [], 'x']]);
});

test('a branch whose origin is not listed, or that is pinned, stands by itself', () => {
  expect(shape([session('b', 'gone'), session('p', 'a', true), session('a')])).toEqual([['b', [], 'b'], ['p', [], 'p'], ['a', [], 'a']]);
});
