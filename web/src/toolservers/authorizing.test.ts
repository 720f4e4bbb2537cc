import { beforeEach, expect, test, vi } from 'vitest';
import type { ToolServer } from '../api/types';
import { begin, finish, waiting } from './authorizing';

const asked: { path: string; method: string; body: unknown }[] = [];
let kept: Map<string, string>;
let url: string;

const storage = () => ({ getItem: (name: string) => kept.get(name) ?? null, setItem: (name: string, text: string) => kept.set(name, text), removeItem: (name: string) => kept.delete(name) }) as unknown as Storage;

beforeEach(() => {
  asked.length = 0;
  kept = new Map();
  url = 'https://login.example.com/authorize?state=s';
  vi.stubGlobal('location', { origin: 'http://127.0.0.1:7878', pathname: '/c/1', search: '?at=2' });
  vi.stubGlobal('fetch', (path: string, { method, body }: { method: string; body: string }) => {
    asked.push({ path, method, body: JSON.parse(body) });
    return Promise.resolve(new Response(JSON.stringify(method === 'POST' ? { url, state: 's', expires_at: null } : { name: 'cloud' })));
  });
});

test('it leaves for the authorization server, and passes its answer on once', async () => {
  const left: string[] = [];
  await begin('cloud', storage(), (to) => left.push(to));
  expect(left).toEqual([url]);
  expect(asked).toEqual([{ path: '/v1/tool-servers/cloud/authorization', method: 'POST', body: { redirect_uri: 'http://127.0.0.1:7878/settings/tool-servers' } }]);
  const { server, from } = await finish({ state: 's', code: 'c' }, storage());
  expect([server.name, from]).toEqual(['cloud', '/c/1?at=2']);
  expect(asked[1]).toEqual({ path: '/v1/tool-servers/cloud/authorization', method: 'PUT', body: { state: 's', code: 'c' } });
  await expect(finish({ state: 's', code: 'c' }, storage())).rejects.toThrow('begin again');
  expect(asked).toHaveLength(2);
});

test('an answer that this tab has not asked for goes nowhere', async () => {
  await begin('cloud', storage(), () => {});
  await expect(finish({ state: 'of somebody else', code: 'c' }, storage())).rejects.toThrow('begin again');
  expect(asked).toHaveLength(1);
  await finish({ state: 's', code: 'c' }, storage()); // the real one still counts
});

test('it opens no address but one of the web', async () => {
  url = 'javascript:alert(1)';
  const left: string[] = [];
  await expect(begin('cloud', storage(), (to) => left.push(to))).rejects.toThrow();
  expect([left, kept.size]).toEqual([[], 0]);
});

test('an agent waits for the servers of its tools', () => {
  const server = (name: string, state: ToolServer['state'], authorizable = true) => ({ name, state, authorizable }) as ToolServer;
  const servers = [server('cloud', 'unauthorized'), server('other', 'unauthorized'), server('on', 'connected'), server('shut', 'unauthorized', false)];
  expect(waiting(servers, ['cloud__*', 'on__x', 'shut__x', 'otherwise']).map(({ name }) => name)).toEqual(['cloud']);
});
