import { infiniteQueryOptions, QueryClient, queryOptions } from '@tanstack/react-query';
import { Offline, Problem, request, requestText } from './http';
import { rawMember } from './raw';
import { type Filter, ROLES } from '../chat/chapters';
import type { Agent, Approval, AuditEntry, Call, CallDetail, CallDiff, ContextPreview, Directories, FileInfo, ID, InboxItem, Key, Message, ModelInfo, Page, Principal, Project, ProviderInfo, Session, SessionClient, ToolInfo, ToolServer, Tree, Turn, UsageRow, Workspace } from './types';

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      retry: (failures, error) => error instanceof Offline || (error instanceof Problem && error.status >= 500 && failures < 3),
      retryDelay: (failures) => Math.min(500 * 2 ** failures, 8_000),
    },
  },
});

const LIST = 50;
const WHOLE = 200; // entries of lists shown in full: agents, projects, tools

export interface SessionFilter {
  agent?: string;
  project?: string;
  archived?: string;
}

const sessionPage = (filter: SessionFilter, cursor: string | null, signal?: AbortSignal) =>
  request<Page<Session>>('/v1/sessions', { query: { limit: LIST, kind: 'agent', cursor, ...filter }, signal });

export const firstSessions = (filter: SessionFilter) => sessionPage(filter, null);

export const sessionList = (filter: SessionFilter) =>
  infiniteQueryOptions({
    queryKey: ['sessions', filter],
    queryFn: ({ pageParam, signal }) => sessionPage(filter, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });

const list = <T>(path: string, name: string, query: Record<string, string | number> = {}) =>
  queryOptions({
    queryKey: [name, query],
    queryFn: ({ signal }) => request<Page<T>>(path, { query: { limit: WHOLE, ...query }, signal }).then((page) => page.data),
  });

export const agentList = (status = 'active') => list<Agent>('/v1/agents', 'agents', { status });
export const projectList = () => list<Project>('/v1/projects', 'projects');
export const projectOf = (id: ID) => queryOptions({ queryKey: ['project', id], queryFn: ({ signal }) => request<Project>(`/v1/projects/${id}`, { signal }) });
export const directoriesIn = (path: string, name: string, hidden: boolean) =>
  queryOptions({
    queryKey: ['directories', path, name, hidden],
    queryFn: ({ signal }) => request<Directories>('/v1/directories', { query: { path, name, hidden }, signal }),
    staleTime: 0, // the disk may change at any time
  });
export const approvalList = (state: string) => list<Approval>('/v1/approvals', 'approvals', { status: state });

const ASKED = 20; // messages read to find the open question of a session
const FAILED = 10; // failed conversations shown

const inState = (status: string, limit: number, signal: AbortSignal) => request<Page<Session>>('/v1/sessions', { query: { status, limit, kind: 'agent' }, signal }).then((page) => page.data);

// questionList lists the conversations whose agents wait for an answer.
export const questionList = () => queryOptions({ queryKey: ['questions'], queryFn: ({ signal }) => inState('waiting', WHOLE, signal).then((sessions) => sessions.filter((one) => one.wait_reason === 'input')) });

// unreadList are the latest items of the person's inbox that are not read.
export const unreadList = () => list<InboxItem>('/v1/inbox', 'inbox', { unread: 'true' });

// callsAndResults are the latest tool calls and results of a session, newest first.
export const callsAndResults = (session: Session) =>
  queryOptions({
    queryKey: ['asked', session.id, session.updated_at],
    queryFn: ({ signal }) => request<Page<Message>>(`/v1/sessions/${session.id}/messages`, { query: { role: ['tool_call', 'tool_result'], order: 'desc', limit: ASKED }, signal }).then((page) => page.data),
  });

// failureList lists the conversations whose last turn failed.
export const failureList = () => queryOptions({ queryKey: ['failures'], queryFn: ({ signal }) => inState('failed', FAILED, signal) });
export const lastTurnOf = (session: Session) =>
  queryOptions({ queryKey: ['last turn', session.id, session.updated_at], queryFn: ({ signal }) => request<Page<Turn>>(`/v1/sessions/${session.id}/turns`, { query: { limit: 1 }, signal }).then((page) => page.data[0] ?? null) });

// These lists are complete and take no limit.
const fixed = <T>(path: string, name: string) =>
  queryOptions({ queryKey: [name], queryFn: ({ signal }) => request<T>(path, { signal }), staleTime: 300_000 });

export const modelList = () => fixed<{ data: ModelInfo[]; default: string }>('/v1/models', 'models');
export const providerList = () => fixed<Page<ProviderInfo>>('/v1/providers', 'providers');
export const toolList = () => fixed<Page<ToolInfo>>('/v1/tools', 'tools');
export const toolServerList = () => list<ToolServer>('/v1/tool-servers', 'tool servers');
export const keyList = () => queryOptions({ queryKey: ['keys'], queryFn: ({ signal }) => request<Page<Key>>('/v1/keys', { signal }).then((page) => page.data) });
export const workspace = () => queryOptions({ queryKey: ['workspace'], queryFn: ({ signal }) => request<Workspace>('/v1/workspace', { signal }) });
export const principal = () => fixed<Principal>('/v1/principal', 'principal');

export const sessionOf = (id: ID) => queryOptions({ queryKey: ['session', id], queryFn: ({ signal }) => request<Session>(`/v1/sessions/${id}`, { signal }) });
export const agentOf = (id: ID) => queryOptions({ queryKey: ['agent', id], queryFn: ({ signal }) => request<Agent>(`/v1/agents/${id}`, { signal }) });
export const agentVersion = (id: ID, version: number) =>
  queryOptions({ queryKey: ['agent', id, version], queryFn: ({ signal }) => request<Agent>(`/v1/agents/${id}/versions/${version}`, { signal }), staleTime: Infinity });

// explained keeps the exact bytes of an explained request.
function explained<T extends { request: string }>(text: string): T {
  return { ...(JSON.parse(text) as T), request: rawMember(text, 'request') };
}

// callsOf lists the latest calls of a session.
export const callsOf = (session: ID) => queryOptions({ queryKey: ['calls', session], queryFn: ({ signal }) => request<Page<Call>>(`/v1/sessions/${session}/calls`, { query: { limit: 100 }, signal }).then((page) => page.data) });

// callOf explains a call, and again when its outcome changes.
export const callOf = (id: ID, outcome: string) => queryOptions({ queryKey: ['call', id, outcome], queryFn: ({ signal }) => requestText(`/v1/calls/${id}`, { signal }).then((text) => explained<CallDetail>(text)) });
export const callDiff = (id: ID, other?: ID) => queryOptions({ queryKey: ['diff', id, other], queryFn: ({ signal }) => request<CallDiff>(`/v1/calls/${id}/diff`, { query: { with: other }, signal }), retry: false });

// contextOf is what the next call of a session would see, with or without a new message; brief: without the request.
export const contextOf = (session: ID, stamp: number, text = '', brief = false) =>
  queryOptions({
    queryKey: ['context', session, stamp, text, brief],
    queryFn: ({ signal }) =>
      (text ? requestText(`/v1/sessions/${session}/preview`, { body: { content: { text } }, signal }) : requestText(`/v1/sessions/${session}/context`, { query: { brief }, signal })).then((answer) => explained<ContextPreview>(answer)),
    staleTime: 0,
    gcTime: 60_000,
  });

export const auditList = (filter: Record<string, string>) =>
  infiniteQueryOptions({
    queryKey: ['audit', filter],
    queryFn: ({ pageParam, signal }) => request<Page<AuditEntry>>('/v1/audit', { query: { limit: 100, cursor: pageParam, ...filter }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });

const DAYS_OF_GROUPS = 1000; // rows; the rest is summed up as others

export const usageBy = (group: string, from: string, daily = false) =>
  queryOptions({ queryKey: ['usage', group, from, daily], queryFn: ({ signal }) => request<{ total: UsageRow; data: UsageRow[] }>('/v1/usage', { query: { group, created_from: from, ...(daily ? { daily, limit: DAYS_OF_GROUPS } : {}) }, signal }) });

export const branchesOf = (message: ID) =>
  queryOptions({ queryKey: ['branches', message], queryFn: ({ signal }) => request<Page<Session>>(`/v1/messages/${message}/branches`, { signal }).then((page) => page.data), staleTime: 0 });

const COVERED = 200; // messages per page of what a summary covers

export const coveredBy = (summary: ID) =>
  infiniteQueryOptions({
    queryKey: ['covered', summary],
    queryFn: ({ pageParam, signal }) => request<Page<Message>>(`/v1/messages/${summary}/covered`, { query: { limit: COVERED, cursor: pageParam }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    staleTime: Infinity,
  });

export const clientList = (session: ID) =>
  queryOptions({ queryKey: ['clients', session], queryFn: ({ signal }) => request<{ data: SessionClient[] }>(`/v1/sessions/${session}/clients`, { signal }).then((page) => page.data), staleTime: 0 });

export const treeOf = (session: ID) => queryOptions({ queryKey: ['tree', session], queryFn: ({ signal }) => request<Tree>(`/v1/sessions/${session}/tree`, { signal }), staleTime: 0 });

export const fileOf = (id: ID) => queryOptions({ queryKey: ['file', id], queryFn: ({ signal }) => request<FileInfo>(`/v1/files/${id}`, { signal }), staleTime: Infinity });

const OUTLINE = 200; // questions and calls per page of the outline

// outlineOf returns the messages of a conversation's outline, newest first.
export const outlineOf = (session: ID, filter: Filter) =>
  infiniteQueryOptions({
    queryKey: ['outline', session, filter],
    queryFn: ({ pageParam, signal }) => request<Page<Message>>(`/v1/sessions/${session}/messages`, { query: { role: ROLES[filter], order: 'desc', limit: OUTLINE, cursor: pageParam }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    staleTime: 0,
  });

export const turnList = (session: ID) =>
  queryOptions({ queryKey: ['turns', session], queryFn: ({ signal }) => request<Page<Turn>>(`/v1/sessions/${session}/turns`, { query: { limit: WHOLE }, signal }).then((page) => page.data), staleTime: 0 });

export const forksOf = (session: ID) =>
  queryOptions({ queryKey: ['forks', session], queryFn: ({ signal }) => request<Page<Session>>('/v1/sessions', { query: { parent: session, kind: 'agent', archived: 'any', order: 'asc', limit: WHOLE }, signal }).then((page) => page.data), staleTime: 0 });
