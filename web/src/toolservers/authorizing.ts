import { request } from '../api/http';
import type { ToolServer, ToolServerRequest } from '../api/types';

// A person authorizes a tool server at its authorization server, in this tab, which then comes back to SETTINGS with the
// answer. Which server was asked for, and from where, is kept in the tab meanwhile.

export const SETTINGS = '/settings/tool-servers';
const ASKED = 'parley.authorizing';

interface Asked {
  state: string;
  server: string;
  from: string; // where the person was
}

export interface Answer {
  state: string;
  code?: string;
  iss?: string;
  error?: string;
}

const path = (server: string) => `/v1/tool-servers/${encodeURIComponent(server)}/authorization`;

// begin leaves the page for the place where a server is authorized.
export async function begin(server: string, storage: Storage = sessionStorage, leave = (url: string) => location.assign(url)): Promise<void> {
  const asked = await request<ToolServerRequest>(path(server), { body: { redirect_uri: location.origin + SETTINGS } });
  if (!/^https?:/.test(asked.url)) throw new Error('Its authorization server has no address that the page can open.');
  storage.setItem(ASKED, JSON.stringify({ state: asked.state, server, from: location.pathname + location.search } satisfies Asked));
  leave(asked.url);
}

export interface Finished {
  server: ToolServer;
  from: string | null; // where the person was, if that was elsewhere
}

// finish passes an answer on, once.
export async function finish(answer: Answer, storage: Storage = sessionStorage): Promise<Finished> {
  const asked = JSON.parse(storage.getItem(ASKED) ?? 'null') as Asked | null;
  if (asked?.state !== answer.state) throw new Error('This tab has not asked for this authorization, or has passed it on already. If the server still needs it, begin again.');
  storage.removeItem(ASKED);
  const server = await request<ToolServer>(path(asked.server), { method: 'PUT', body: answer });
  return { server, from: asked.from.startsWith(SETTINGS) ? null : asked.from };
}

export const forget = (server: string) => request(path(server), { method: 'DELETE' });

// waiting are the servers that somebody must authorize before an agent can use all of its tools.
export function waiting(servers: ToolServer[], tools: string[]): ToolServer[] {
  return servers.filter(({ name, state, authorizable }) => state === 'unauthorized' && authorizable && tools.some((tool) => tool.startsWith(`${name}__`)));
}
