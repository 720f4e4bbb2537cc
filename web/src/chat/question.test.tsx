// @vitest-environment happy-dom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act } from 'react';
import { createRoot } from 'react-dom/client';
import { beforeEach, expect, test, vi } from 'vitest';
import type { Approval } from '../api/types';
import { ApprovalCard } from './approval';

const sent: unknown[] = [];
let role: string;

beforeEach(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  sent.length = 0;
  role = 'member';
  document.body.innerHTML = '';
  vi.stubGlobal('fetch', (path: string, { body }: { body?: string }) => {
    if (body !== undefined) sent.push([path, JSON.parse(body)]);
    return Promise.resolve(new Response('{}'));
  });
});

async function shown(question: Partial<NonNullable<Approval['question']>>): Promise<HTMLElement> {
  const approval = { id: 'one', tool_name: 'cloud__deploy', tool_call_id: 'c', missing: 1, expires_at: '2026-01-31T12:00:00Z', question: { message: 'Where?', schema: null, url: null, ...question } } as unknown as Approval;
  const queries = new QueryClient();
  queries.setQueryData(['principal'], { id: 'me', role });
  const element = document.body.appendChild(document.createElement('div'));
  await act(async () => {
    createRoot(element).render(
      <QueryClientProvider client={queries}>
        <ApprovalCard approval={approval} />
      </QueryClientProvider>,
    );
  });
  return element;
}

const button = (element: HTMLElement, name: string) => [...element.querySelectorAll('button')].find((one) => one.textContent === name)!;
const press = (element: HTMLElement, name: string) => act(async () => button(element, name).click());

const WHERE = { type: 'object', properties: { where: { type: 'string', default: 'here' }, sure: { type: 'boolean' } }, required: ['where'] };

test.each([
  ['Answer', { decision: 'approve', answer: { where: 'here', sure: false } }],
  ['Decline', { decision: 'deny' }],
  ['Dismiss', { decision: 'dismiss' }],
])('%s decides', async (name, body) => {
  await press(await shown({ schema: WHERE }), name);
  expect(sent).toEqual([['/v1/approvals/one', body]]);
});

test('an incomplete answer is not sent, and says what it lacks', async () => {
  const element = await shown({ schema: { properties: { where: { type: 'string' } }, required: ['where'] } });
  await press(element, 'Answer');
  expect(element.querySelector('[role=alert]')?.textContent).toBe('Fill this in.');
  expect(document.activeElement).toBe(element.querySelector('input'));
  expect(sent).toEqual([]);
});

test('all that a server says is text', async () => {
  const evil = '<img src=x onerror=alert(1)>[link](javascript:alert(1))';
  const element = await shown({ message: evil, schema: { properties: { [evil]: { type: 'string', title: evil, description: evil, enum: [evil] } } } });
  expect(element.querySelector('img, a')).toBeNull();
  expect(element.textContent).toContain(evil);
});

test('an address is named by its host, and opens apart', async () => {
  const element = await shown({ url: 'https://pay.example.com/now?x=1' });
  const link = element.querySelector('a')!;
  expect([link.textContent?.trim(), link.target, link.rel]).toEqual(['Open pay.example.com', '_blank', 'noopener noreferrer']);
  await press(element, 'I have done it');
  expect(sent).toEqual([['/v1/approvals/one', { decision: 'approve' }]]);
  expect((await shown({ url: 'javascript:alert(1)' })).querySelector('a')).toBeNull();
});

test('a schema beyond a form takes JSON', async () => {
  const element = await shown({ schema: { anyOf: [{}] } });
  await press(element, 'Answer');
  expect(element.textContent).toContain('Write a JSON object.');
  expect(sent).toEqual([]);
});

test('a reader is offered nothing', async () => {
  role = 'reader';
  const element = await shown({ schema: WHERE });
  expect(element.querySelector('button, input')).toBeNull();
  expect(element.textContent).toContain('Where?');
});
