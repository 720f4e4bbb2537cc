import { expect, test } from 'vitest';
import { crumbsOf, nameOf } from './path';

test('a path’s name is its last part', () => {
  expect(nameOf('/home/ada/site/')).toBe('site');
  expect(nameOf('/')).toBe('/');
});

test('crumbs lead from the root to the path', () => {
  expect(crumbsOf('/home/ada', '/home/ada/a/b').map((one) => one.path)).toEqual(['/home/ada', '/home/ada/a', '/home/ada/a/b']);
  expect(crumbsOf('/home/ada', '/home/ada')).toHaveLength(1);
  expect(crumbsOf('/', '/etc').map((one) => one.path)).toEqual(['/', '/etc']);
});
