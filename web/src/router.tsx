import { createRootRoute, createRoute, createRouter, redirect } from '@tanstack/react-router';
import { ChatPage } from './chat/page';
import { Shell } from './components/shell';
import { Arriving } from './components/ui';
import { part } from './live/arrive';
import { NotFound, RouteError } from './pages/errors';
import { NewPage } from './pages/new';

// strings reads text values from an address: for each name a text, or nothing. A value from a closed list that the
// address has wrong must be returned as undefined, since the router would keep it.
function strings<Name extends string>(search: Record<string, unknown>, ...names: Name[]): { [name in Name]?: string } {
  const found: { [name in Name]?: string } = {};
  for (const name of names) {
    const value = search[name];
    if (typeof value === 'number') found[name] = String(value);
    else if (typeof value === 'string' && value !== '') found[name] = value;
  }
  return found;
}

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound, errorComponent: RouteError });

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/new' });
  },
});

export const newRoute = createRoute({
  getParentRoute: () => root,
  path: '/new',
  component: NewPage,
  validateSearch: (search: Record<string, unknown>) => strings(search, 'project', 'agent', 'model', 'effort'),
});

export const PANELS = ['info', 'context', 'outline', 'documents', 'tree', 'lineage', 'trace'] as const;
export type Panel = (typeof PANELS)[number];

export const chatRoute = createRoute({
  getParentRoute: () => root,
  path: '/c/$id',
  component: ChatPage,
  validateSearch: (search: Record<string, unknown>): { panel?: Panel; at?: string; find?: string; document?: string; call?: string } => {
    const panel = PANELS.find((one) => one === search.panel);
    // at: a message, by its id or its sequence; document: the one that is open in the panel, call: the message of the call
    // that writes one which has no id yet
    return { panel, ...strings(search, 'at', 'find', ...(panel === 'documents' ? (['document', 'call'] as const) : [])) };
  },
});

export const inspectRoute = createRoute({
  getParentRoute: () => root,
  path: '/c/$id/inspect',
  component: part(() => import('./pages/inspect'), 'InspectPage'),
  validateSearch: (search: Record<string, unknown>) => strings(search, 'only', 'row', 'of', 'part', 'with'),
});

export const inboxRoute = createRoute({
  getParentRoute: () => root,
  path: '/inbox',
  component: part(() => import('./pages/inbox'), 'InboxPage'),
  validateSearch: (search: Record<string, unknown>) => strings(search, 'unread', 'type', 'agent', 'item'), // item: the one that is open
});
const teams = createRoute({ getParentRoute: () => root, path: '/team', component: part(() => import('./pages/teamlist'), 'TeamsPage') });
export const teamRoute = createRoute({ getParentRoute: () => root, path: '/team/$lead', component: part(() => import('./pages/team'), 'TeamPage') });
const agents = createRoute({ getParentRoute: () => root, path: '/agents', component: part(() => import('./pages/agentlist'), 'AgentsPage') });
export const searchRoute = createRoute({
  getParentRoute: () => root,
  path: '/search',
  component: part(() => import('./pages/search'), 'SearchPage'),
  validateSearch: (search: Record<string, unknown>) => strings(search, 'q', 'in', 'role', 'agent', 'project', 'tool', 'from', 'to', 'archived'),
});
export const agentRoute = createRoute({
  getParentRoute: () => root,
  path: '/agents/$id',
  component: part(() => import('./pages/agent'), 'AgentPage'),
  validateSearch: (search: Record<string, unknown>) => strings(search, 'from', 'to', 'session'), // session: what a change costs is told of it
});
const projects = createRoute({ getParentRoute: () => root, path: '/projects', component: part(() => import('./pages/projectlist'), 'ProjectsPage') });
export const projectRoute = createRoute({
  getParentRoute: () => root,
  path: '/projects/$id',
  component: part(() => import('./pages/project'), 'ProjectPage'),
});
export const documentsRoute = createRoute({
  getParentRoute: () => root,
  path: '/documents',
  component: part(() => import('./pages/documentlist'), 'DocumentsPage'),
  validateSearch: (search: Record<string, unknown>) => strings(search, 'kind', 'project', 'name', 'archived'),
});
export const DOCUMENT_TABS = ['read', 'edit', 'changes', 'history', 'lineage'] as const;
export type DocumentTab = (typeof DOCUMENT_TABS)[number];
export const documentRoute = createRoute({
  getParentRoute: () => root,
  path: '/documents/$id',
  component: part(() => import('./pages/document'), 'DocumentPage'),
  validateSearch: (search: Record<string, unknown>): { tab?: DocumentTab; version?: string; from?: string; pointer?: string; range?: string } => {
    const tab = DOCUMENT_TABS.find((one) => one === search.tab);
    return { tab: tab === 'read' ? undefined : tab, ...strings(search, 'version', 'from', ...(tab === 'lineage' ? (['pointer', 'range'] as const) : [])) }; // from: compare version with it; pointer, range: a part of it
  },
});
export const runRoute = createRoute({ getParentRoute: () => root, path: '/runs/$id', component: part(() => import('./pages/run'), 'RunPage') });
const usageRoute = createRoute({
  getParentRoute: () => root,
  path: '/usage',
  component: part(() => import('./pages/usage'), 'UsagePage'),
  validateSearch: (search: Record<string, unknown>) => strings(search, 'days', 'by'),
});
export const auditRoute = createRoute({
  getParentRoute: () => root,
  path: '/audit',
  component: part(() => import('./pages/audit'), 'AuditPage'),
  validateSearch: (search: Record<string, unknown>) => strings(search, 'session', 'principal', 'all'),
});
export const settingsRoute = createRoute({
  getParentRoute: () => root,
  path: '/settings/$section',
  component: part(() => import('./pages/settings'), 'SettingsPage'),
  validateSearch: (search: Record<string, unknown>) => strings(search, 'state', 'code', 'iss', 'error'), // the answer of an authorization server
});
const settingsHome = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  beforeLoad: () => {
    throw redirect({ to: '/settings/$section', params: { section: 'models' } });
  },
});

export const router = createRouter({
  routeTree: root.addChildren([home, newRoute, chatRoute, inspectRoute, searchRoute, inboxRoute, teams, teamRoute, agents, agentRoute, projects, projectRoute, documentsRoute, documentRoute, runRoute, usageRoute, auditRoute, settingsHome, settingsRoute]),
  defaultPreload: 'intent',
  defaultPendingComponent: Arriving,
  // Values in an address are always text: a search for 42 is one for "42".
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const text = new URLSearchParams(Object.entries(search).flatMap(([name, value]) => (typeof value === 'string' && value !== '' ? [[name, value]] : []))).toString();
    return text && `?${text}`;
  },
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
