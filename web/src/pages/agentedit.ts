import { FIELD_SETTINGS } from '../api/settings';
import type { Agent } from '../api/types';
import { keepDraft, readDraft } from '../chat/draft';

const FIELDS: (keyof Agent)[] = ['name', 'description', 'system_prompt', 'model', 'lead_id', 'tools', 'context_policy', ...FIELD_SETTINGS.map(({ name }) => name)];

// Edit is a person's unsaved changes to an agent.
export type Edit = Partial<Agent>;

const keyOf = (agent: Agent) => `agent.${agent.id}`;

// editOf returns the fields in which a draft differs from its agent.
export function editOf(agent: Agent, draft: Agent): Edit {
  return Object.fromEntries(FIELDS.filter((name) => JSON.stringify(draft[name]) !== JSON.stringify(agent[name])).map((name) => [name, draft[name]]));
}

// settingsIn returns what of an edit changes how sessions run.
export function settingsIn({ name: _name, description: _description, lead_id: _lead, ...settings }: Edit): Edit {
  return settings;
}

// keepEdit keeps an edit in this browser until it is saved or discarded, even if the
// person leaves the page.
export function keepEdit(agent: Agent, draft: Agent): void {
  const edit = editOf(agent, draft);
  keepDraft(keyOf(agent), Object.keys(edit).length > 0 ? JSON.stringify(edit) : '');
}

// editedAgent is the agent with its unsaved changes, whatever version they were based on.
export function editedAgent(agent: Agent): Agent {
  return { ...agent, ...(JSON.parse(readDraft(keyOf(agent)) || '{}') as Edit) };
}
