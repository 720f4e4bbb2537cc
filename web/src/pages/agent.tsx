import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { Archive, ArchiveRestore, MessageSquarePlus } from 'lucide-react';
import { type FormEvent, useEffect, useState } from 'react';
import { request } from '../api/http';
import { agentList, agentOf, modelList, principal, sessionOf, toolList } from '../api/queries';
import type { Agent, ChangeInput, ToolRef } from '../api/types';
import { fullTime } from '../components/format';
import { PolicyFields } from '../components/policyfields';
import { SettingFields, wrongIn } from '../components/settingfields';
import { titled } from '../components/tab';
import { titleOf } from '../components/title';
import { Badge, Button, Failed, Field, Input, Loading, Page, Select, TextArea } from '../components/ui';
import { Unauthorized, useUnauthorized } from '../toolservers/authorize';
import { Cost } from '../context/cost';
import { editedAgent, editOf, keepEdit, settingsIn } from './agentedit';
import { NoSuch } from './errors';
import { Versions } from './versions';

export function AgentPage() {
  const { id } = useParams({ from: '/agents/$id' });
  const agent = useQuery(agentOf(id));
  useEffect(() => {
    if (!agent.isError) titled(`${agent.data?.name ?? 'Agent'} – Parley`);
  }, [agent.data?.name, agent.isError]);
  if (agent.isPending) {
    return (
      <Page title="Agent">
        <Loading what="the agent" />
      </Page>
    );
  }
  if (agent.isError) return <NoSuch what="agent" list="/agents" error={agent.error} onRetry={() => void agent.refetch()} />;
  return <Editor key={`${agent.data.id} ${agent.data.version}`} agent={agent.data} />;
}

function toolName(tool: ToolRef): string {
  return typeof tool === 'string' ? tool : tool.name;
}

function Editor({ agent }: { agent: Agent }) {
  const queries = useQueryClient();
  const models = useQuery(modelList());
  const tools = useQuery(toolList());
  const me = useQuery(principal()).data;
  const reader = me?.role === 'reader';
  const fixed = me !== undefined && me.role !== 'admin' && (reader || agent.owner_id !== me.id);
  const [draft, setDraft] = useState(() => editedAgent(agent));
  const [failure, setFailure] = useState<unknown>(null);
  const wrong = wrongIn(failure);
  const changed = !fixed && Object.keys(editOf(agent, draft)).length > 0;
  const become = (next: Agent) => {
    setDraft(next);
    keepEdit(agent, next);
  };
  const set = (fields: Partial<Agent>) => become({ ...draft, ...fields });
  const patch = (body: Record<string, unknown>, done = () => {}) => {
    setFailure(null);
    request<Agent>(`/v1/agents/${agent.id}`, { method: 'PATCH', body }).then(
      (next) => {
        done();
        queries.setQueryData(['agent', agent.id], next);
        for (const name of ['agents', 'teams', 'team']) void queries.invalidateQueries({ queryKey: [name] });
      },
      (failed: unknown) => setFailure(failed),
    );
  };
  const save = (event: FormEvent) => {
    event.preventDefault();
    patch(editOf(agent, draft), () => keepEdit(agent, agent));
  };
  const named = new Set(draft.tools.map(toolName));
  const unauthorized = useUnauthorized(agent);
  const lacks = (tools.data?.data ?? []).filter(
    (tool) => tool.unusable !== null && tool.agents.includes(agent.slug) && !unauthorized.some(({ name }) => tool.name.startsWith(`${name}__`)),
  );
  return (
    <Page
      title={agent.name}
      about={`${agent.owner_name ? `Owned by ${agent.owner_name}` : 'Owned by the admins'}, version ${agent.version}, changed ${fullTime(agent.updated_at)}`}
      actions={
        !reader && (
          <>
            {!fixed && (
              <Button look="quiet" onClick={() => patch({ status: agent.status === 'active' ? 'archived' : 'active' })}>
                {agent.status === 'active' ? <Archive size={14} aria-hidden /> : <ArchiveRestore size={14} aria-hidden />}
                {agent.status === 'active' ? 'Archive' : 'Reopen'}
              </Button>
            )}
            {agent.status === 'active' && (
              <Link
                to="/new"
                search={{ agent: agent.id }}
                className="inline-flex min-h-8 items-center gap-1.5 rounded-lg border border-line-strong px-3 text-sm font-medium hover:bg-hover"
              >
                <MessageSquarePlus size={14} aria-hidden /> Talk to it
              </Link>
            )}
          </>
        )
      }
    >
      {fixed && (
        <p className="mb-5 rounded-xl border border-line bg-raised px-4 py-2.5 text-sm text-soft">
          {reader ? 'You have read access. To change agents, ask an admin for a key with the role member.' : 'Only its owner and admins can change this agent. You can talk to it, and create agents of your own.'}
        </p>
      )}
      <Unauthorized agent={agent} className="mb-5" />
      {lacks.length > 0 && (
        <section aria-label="What this agent lacks" className="mb-5 rounded-xl border border-line bg-raised px-4 py-2.5 text-sm">
          <p className="font-medium">This agent names what this server cannot offer:</p>
          <ul className="mt-1 list-disc space-y-1 pl-5">
            {lacks.map((one) => (
              <li key={one.name}>
                <span className="font-mono text-[13px]">{one.name}</span>: {one.unusable}. {one.do}
              </li>
            ))}
          </ul>
        </section>
      )}
      <form onSubmit={save} className="space-y-5">
        <div className="grid gap-5 sm:grid-cols-2">
          <Field label="Name">
            <Input value={draft.name} readOnly={fixed} onChange={(event) => set({ name: event.target.value })} required maxLength={100} />
          </Field>
          <Field label="Model" hint="Any provider/model; the list has those that the server knows.">
            <Input list={fixed ? undefined : 'models'} readOnly={fixed} value={draft.model ?? ''} placeholder={models.data?.default} onChange={(event) => set({ model: event.target.value || null })} />
            <datalist id="models">
              {models.data?.data.map((model) => (
                <option key={model.id} value={model.id} />
              ))}
            </datalist>
          </Field>
        </div>
        <Lead agent={agent} value={draft.lead_id} fixed={fixed} onChange={(lead_id) => set({ lead_id })} />
        <Field label="Description">
          <Input value={draft.description} readOnly={fixed} onChange={(event) => set({ description: event.target.value })} />
        </Field>
        <Field label="System prompt" hint="Placeholders such as {{session.title}} and {{project.path}} are filled in for each call.">
          <TextArea rows={10} readOnly={fixed} value={draft.system_prompt} onChange={(event) => set({ system_prompt: event.target.value })} className="font-mono text-[13px]" />
        </Field>
        <PolicyFields value={draft.context_policy} fixed={fixed} wrong={wrong} onChange={(context_policy) => set({ context_policy })} />
        <div className="grid gap-5 sm:grid-cols-3">
          <SettingFields values={draft} fixed={fixed} wrong={wrong} onChange={set} />
        </div>
        <fieldset>
          <legend className="mb-2 text-sm font-medium">Tools</legend>
          <ul className="grid gap-2 sm:grid-cols-2">
            {tools.data?.data.filter((tool) => tool.source !== 'runtime' && (!tool.name.endsWith('*') || named.has(tool.name))).map((tool) => (
              <li key={tool.name}>
                <label className="flex items-start gap-2 rounded-lg border border-line p-2.5 text-sm hover:bg-raised">
                  <input
                    type="checkbox"
                    disabled={fixed || (tool.unusable !== null && !named.has(tool.name))}
                    className="mt-1"
                    checked={named.has(tool.name)}
                    onChange={(event) => set({ tools: event.target.checked ? [...draft.tools, tool.name] : draft.tools.filter((one) => toolName(one) !== tool.name) })}
                  />
                  <span className="min-w-0">
                    <span className="flex flex-wrap items-center gap-1.5 font-mono text-[13px]">
                      {tool.name} <Badge>{tool.source}</Badge>
                      {tool.annotations.destructive && !tool.annotations.read_only && <Badge tone="warn">asks first</Badge>}
                    </span>
                    {tool.unusable === null ? (
                      <span className="line-clamp-2 text-xs text-soft">{tool.description}</span>
                    ) : (
                      <span className="block text-xs text-soft">
                        Cannot be used: {tool.unusable}. {tool.do}
                      </span>
                    )}
                  </span>
                </label>
              </li>
            ))}
          </ul>
          {draft.tools.some((tool) => !tools.data?.data.some((one) => one.name === toolName(tool))) && (
            <p className="mt-2 text-xs text-soft">
              Also: {draft.tools.filter((tool) => !tools.data?.data.some((one) => one.name === toolName(tool))).map(toolName).join(', ')}
            </p>
          )}
        </fieldset>
        {failure !== null && Object.keys(wrong).length === 0 && <Failed error={failure} />}
        {changed && (
          <div className="sticky bottom-0 flex items-center justify-end gap-2 border-t border-line bg-bg py-3 max-sm:flex-wrap">
            <span className="flex-1 text-sm text-soft max-sm:basis-full max-sm:text-xs">
              Not saved yet, but kept in this browser. Running turns keep version {agent.version}.
              <SessionCost agent={agent} draft={draft} />
            </span>
            <Button onClick={() => become(agent)}>Discard</Button>
            <Button look="primary" type="submit">
              Save as version {agent.version + 1}
            </Button>
          </div>
        )}
      </form>
      <Versions agent={agent} />
    </Page>
  );
}

// Lead is the agent that leads an agent: agents of one owner form teams.
function Lead({ agent, value, fixed, onChange }: { agent: Agent; value: string | null; fixed: boolean; onChange: (lead: string | null) => void }) {
  const agents = useQuery(agentList()).data ?? [];
  const may = agents.filter((one) => one.id !== agent.id && one.owner_id !== null && one.owner_id === agent.owner_id);
  if (may.length === 0 && !value) return null;
  return (
    <Field label="Lead" hint="The agent that it works for, in a team.">
      <Select value={value ?? ''} disabled={fixed} onChange={(event) => onChange(event.target.value || null)}>
        <option value="">No lead</option>
        {value && !may.some((one) => one.id === value) && <option value={value}>{agents.find((one) => one.id === value)?.name ?? 'Another agent'}</option>}
        {may.map((one) => (
          <option key={one.id} value={one.id}>
            {one.name}
          </option>
        ))}
      </Select>
    </Field>
  );
}

// SessionCost tells what a change of the agent costs the conversation that the form was opened from.
function SessionCost({ agent, draft }: { agent: Agent; draft: Agent }) {
  const { session: id = '' } = useSearch({ from: '/agents/$id' });
  const { data: session } = useQuery({ ...sessionOf(id), enabled: id !== '' });
  if (session?.agent_id !== agent.id) return null;
  const settings = settingsIn(editOf(agent, draft)) as NonNullable<ChangeInput['agent']>;
  return <Cost session={session.id} change={Object.keys(settings).length > 0 ? { agent: settings } : null} about={`“${titleOf(session)}”`} />;
}
