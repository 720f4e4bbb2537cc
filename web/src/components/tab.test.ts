// @vitest-environment happy-dom
import { expect, test } from 'vitest';
import { counted, titled, waiting } from './tab';

test('the tab says how much waits, whatever it shows', () => {
  titled('Inbox – Parley');
  waiting(2);
  expect(document.title).toBe('(2) Inbox – Parley');
  titled('Agents – Parley');
  expect(document.title).toBe('(2) Agents – Parley');
  waiting(120);
  expect(document.title).toBe('(99+) Agents – Parley');
  waiting(0);
  expect(document.title).toBe('Agents – Parley');
  expect(counted(99)).toBe('99');
});
