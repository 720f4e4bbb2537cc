import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Bot, Plus } from 'lucide-react';
import { useEffect, useState } from 'react';
import { request } from '../api/http';
import { agentList } from '../api/queries';
import type { Agent } from '../api/types';
import { time } from '../components/format';
import { CreateDialog } from '../components/create';
import { useReader } from '../components/role';
import { titled } from '../components/tab';
import { Badge, Button, Empty, Failed, Field, Input, Loading, Page } from '../components/ui';

export function AgentsPage() {
  const [archived, setArchived] = useState(false);
  const [making, setMaking] = useState(false);
  const reader = useReader();
  const agents = useQuery(agentList(archived ? 'any' : 'active'));
  useEffect(() => {
    titled('Agents – Parley');
  }, []);
  return (
    <Page
      title="Agents"
      about="An agent’s instructions, model and tools. Every change makes a new version; running turns keep theirs."
      actions={
        <>
          <Button look="quiet" aria-pressed={archived} onClick={() => setArchived(!archived)}>
            {archived ? 'Hide archived' : 'Show archived'}
          </Button>
          {!reader && (
            <Button look="primary" onClick={() => setMaking(true)}>
              <Plus size={15} aria-hidden /> New agent
            </Button>
          )}
        </>
      }
    >
      {agents.isPending && <Loading what="agents" />}
      {agents.isError && <Failed error={agents.error} onRetry={() => void agents.refetch()} />}
      {agents.data?.length === 0 && <Empty icon={<Bot size={28} />} title="No agents yet." />}
      <ul className="grid gap-3 sm:grid-cols-2">
        {agents.data?.map((agent) => (
          <li key={agent.id}>
            <Link to="/agents/$id" params={{ id: agent.id }} className="block h-full rounded-2xl border border-line p-4 hover:border-line-strong hover:bg-raised">
              <p className="flex items-center gap-2">
                <span className="truncate font-semibold">{agent.name}</span>
                {agent.status === 'archived' && <Badge>archived</Badge>}
                <span className="ml-auto text-xs text-faint">v{agent.version}</span>
              </p>
              <p className="mt-1 line-clamp-2 min-h-10 text-sm text-soft">{agent.description || agent.system_prompt || 'No instructions.'}</p>
              <p className="mt-3 flex flex-wrap gap-1.5 text-xs text-faint">
                <Badge>{agent.model ?? 'server’s default'}</Badge>
                {agent.tools.length > 0 && <Badge>{agent.tools.length === 1 ? '1 tool' : `${agent.tools.length} tools`}</Badge>}
                {agent.owner_name && <span>of {agent.owner_name}</span>}
                <span className="ml-auto">changed {time(agent.updated_at)}</span>
              </p>
            </Link>
          </li>
        ))}
      </ul>
      <NewAgent open={making} onClose={() => setMaking(false)} />
    </Page>
  );
}

function NewAgent({ open, onClose }: { open: boolean; onClose: () => void }) {
  const navigate = useNavigate();
  const [name, setName] = useState('');
  return (
    <CreateDialog
      open={open}
      onClose={onClose}
      title="New agent"
      about="A name is enough; you can set the rest on its page."
      label="Create"
      ready={name.trim() !== ''}
      list="agents"
      create={() => request<Agent>('/v1/agents', { body: { name } })}
      onCreated={(agent) => void navigate({ to: '/agents/$id', params: { id: agent.id } })}
    >
      <Field label="Name">
        <Input value={name} onChange={(event) => setName(event.target.value)} required maxLength={100} />
      </Field>
    </CreateDialog>
  );
}
