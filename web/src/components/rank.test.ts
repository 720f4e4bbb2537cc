import { expect, test } from 'vitest';
import { rank } from './rank';

test('the name itself comes before its beginning, a word, a part, and words anywhere', () => {
  const names = ['Of usage and more', 'Usage by day', 'Misusage', 'Usage', 'day of much usage', 'A usage-day'];
  const typed = (text: string) => names.filter((name) => rank(name, text) > 0).sort((a, b) => rank(b, text) - rank(a, text));
  expect(typed('usage').slice(0, 2)).toEqual(['Usage', 'Usage by day']);
  expect(typed('usage').at(-1)).toBe('Misusage');
  expect(typed('day usage').sort()).toEqual(['A usage-day', 'Usage by day', 'day of much usage']);
});

test('letters scattered over a name do not match', () => {
  expect(rank('Donaudampfschifffahrtsgesellschaftskapitänsmütze', 'usage')).toBe(0);
  expect(rank('New conversation', 'neon')).toBe(0);
});
