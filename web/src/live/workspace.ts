import type { QueryClient, QueryKey } from '@tanstack/react-query';
import { firstSessions } from '../api/queries';
import { Problem, request, whenUnauthorised } from '../api/http';
import type { ID, Session, Team } from '../api/types';
import { feed } from './feed';
import { changed, refreshLists, type SessionPages } from './lists';

const EVERY = 'every page of sessions';
const SETTLE_MS = 300; // list changes that arrive together cause one fetch

// followWorkspace updates lists from the workspace feed: changes of a row are applied in
// place, changes that move rows are fetched again.
export function followWorkspace(queries: QueryClient): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stale = new Set<string>();
  const fetchAgain = (...names: string[]) => {
    for (const name of names) stale.add(name);
    timer ??= setTimeout(() => {
      timer = undefined;
      for (const name of stale) {
        if (name === 'sessions') void refreshLists(queries, firstSessions);
        else if (name === EVERY) void queries.invalidateQueries({ queryKey: ['sessions'] });
        else void queries.invalidateQueries({ queryKey: [name] });
      }
      stale.clear();
      for (const id of documentsAgain) void queries.invalidateQueries({ queryKey: ['document', id] });
      documentsAgain.clear();
      for (const queryKey of teams) void queries.invalidateQueries({ queryKey, exact: true });
      teams.clear();
    }, SETTLE_MS);
  };
  const documentsAgain = new Set<ID>();
  // A team is fetched again only if one of its members did something.
  const teams = new Set<QueryKey>();
  const teamsAgain = (...sessions: (ID | null | undefined)[]) => {
    for (const [key, team] of queries.getQueriesData<Team>({ queryKey: ['team'] })) {
      if (team?.members.some((one) => one.background && sessions.includes(one.background.session_id))) teams.add(key);
    }
    if (teams.size > 0) fetchAgain();
  };
  // Revoking a key ends the connection, and other requests are refused: then the shell asks
  // for another key. It stays while somebody types one; signing in reloads the page.
  const whoAmI = () => {
    const known = queries.getQueryState(['principal'])?.error;
    if (known instanceof Problem && known.status === 401) return;
    void queries.invalidateQueries({ queryKey: ['principal'] }, { cancelRefetch: false });
  };
  whenUnauthorised(whoAmI);
  feed.onState(() => feed.linkState() === 'reconnecting' && whoAmI());
  feed.onWorkspace((event) => {
    const id = event.session_id;
    switch (event.type) {
      case 'resync':
        fetchAgain(EVERY, 'session', 'approvals', 'agents', 'projects', 'tree', 'questions', 'failures', 'inbox', 'teams', 'team', 'delegations', 'schedules', 'documents', 'document', 'transforms', 'runs', 'run', 'knowledge');
        break;
      case 'session.status_changed':
        if (id) change(queries, id, { status: event.data.status, wait_reason: event.data.wait_reason });
        fetchAgain('sessions', 'tree', 'questions', 'failures', 'schedules');
        teamsAgain(id);
        if (event.data.status === 'waiting' || event.data.status === 'running') fetchAgain('approvals');
        break;
      case 'session.updated':
        fetchAgain('sessions', 'runs', 'knowledge'); // who reads a session reads what comes from it; a run is one
        if (id) void reread(queries, id);
        break;
      case 'session.deleted':
        if (id) place(queries, id, () => null);
        fetchAgain('sessions', 'tree', 'questions', 'failures', 'knowledge');
        break;
      case 'approval.created':
      case 'approval.approved':
      case 'approval.resolved':
        fetchAgain('approvals');
        break;
      case 'inbox.created':
      case 'inbox.updated':
        fetchAgain('inbox');
        break;
      case 'knowledge.created':
      case 'knowledge.updated':
        fetchAgain('knowledge');
        break;
      case 'artifact.created':
      case 'artifact.updated':
      case 'artifact.deleted':
        fetchAgain('documents');
        documentsAgain.add(event.data.artifact_id);
        break;
      case 'transform.updated': // the versions that it wrote have no events of their own
        fetchAgain('transforms', 'runs', 'documents', 'document');
        break;
      case 'delegation.sent':
      case 'delegation.delivered':
      case 'delegation.running':
      case 'delegation.answered':
      case 'delegation.failed':
      case 'delegation.cancelled':
      case 'delegation.expired':
        fetchAgain('delegations');
        teamsAgain(event.data.from_session_id, event.data.to_session_id);
        break;
    }
  });
}

function change(queries: QueryClient, id: ID, fields: Partial<Session>): void {
  place(queries, id, (session) => ({ ...session, ...fields }));
  queries.setQueryData<Session>(['session', id], (session) => session && { ...session, ...fields });
}

// place updates a session in every list that has it, or removes it from them.
function place(queries: QueryClient, id: ID, now: (session: Session, filter: { archived?: string }) => Session | null): void {
  for (const [key, list] of queries.getQueriesData<SessionPages>({ queryKey: ['sessions'] })) {
    if (list) queries.setQueryData(key, changed(list, id, (session) => now(session, key[1] as { archived?: string })));
  }
}

// reread is for a session that itself changed: it may be far down in a list, or no longer
// belong there.
async function reread(queries: QueryClient, id: ID): Promise<void> {
  void queries.invalidateQueries({ queryKey: ['session', id] });
  try {
    const session = await request<Session>(`/v1/sessions/${id}`);
    place(queries, id, (_, { archived }) => ((session.archived_at !== null) === (archived === 'true') ? session : null));
  } catch (error) {
    if (error instanceof Problem && error.status === 404) place(queries, id, () => null);
  }
}
