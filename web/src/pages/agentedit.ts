import { FIELD_SETTINGS } from '../api/settings';
import type { Agent } from '../api/types';
import { keepDraft, readDraft } from '../chat/draft';

const FIELDS: (keyof Agent)[] = ['name', 'description', 'system_prompt', 'model', 'tools', ...FIELD_SETTINGS.map(({ name }) => name)];

// Edit is what somebody changed of an agent, and did not save yet.
export type Edit = Partial<Agent>;

const keyOf = (agent: Agent) => `agent.${agent.id}`;

// editOf is in which fields a draft differs from its agent.
export function editOf(agent: Agent, draft: Agent): Edit {
  return Object.fromEntries(FIELDS.filter((name) => JSON.stringify(draft[name]) !== JSON.stringify(agent[name])).map((name) => [name, draft[name]]));
}

// keepEdit keeps an edit in this browser until it is saved or discarded, also for whoever
// leaves the page.
export function keepEdit(agent: Agent, draft: Agent): void {
  const edit = editOf(agent, draft);
  keepDraft(keyOf(agent), Object.keys(edit).length > 0 ? JSON.stringify(edit) : '');
}

// editedAgent is the agent with what was changed of it before, on whichever version.
export function editedAgent(agent: Agent): Agent {
  return { ...agent, ...(JSON.parse(readDraft(keyOf(agent)) || '{}') as Edit) };
}
