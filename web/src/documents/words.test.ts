import { expect, test } from 'vitest';
import { aboutOf, linesOf } from './words';

test('a quotation names its lines, if it is there once', () => {
  const text = '# Plan\n\nFirst we *walk*.\nThen we [rest](https://example.com).\n\nFirst we eat.\n';
  expect(linesOf(text, 'we *walk*')).toEqual([3, 3]);
  expect(linesOf(text, 'Plan\nFirst we walk.')).toEqual([1, 3]); // without the marks of Markdown
  expect(linesOf(text, 'First we')).toBeNull();
  expect(linesOf(text, 'nowhere')).toBeNull();
  expect(linesOf(text, '…')).toBeNull();
});

test('a message says what it is about', () => {
  const plan = { id: '0f', name: 'Plan' };
  expect(aboutOf(plan, 2, null)).toBe('About the document “Plan” (0f), version 2:');
  expect(aboutOf(plan, 2, { text: 'x', lines: [3, 3], pointer: null })).toBe('About the document “Plan” (0f), version 2, line 3:');
  expect(aboutOf(plan, 2, { text: 'x', lines: [3, 5], pointer: null })).toBe('About the document “Plan” (0f), version 2, lines 3 to 5:');
  expect(aboutOf(plan, 2, { text: 'x', lines: null, pointer: '/a/0' })).toBe('About the document “Plan” (0f), version 2, at /a/0:');
});
