import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Bot, FoldVertical, MessageSquare, Type, User, Wrench } from 'lucide-react';
import type { ReactNode } from 'react';
import { agentList, projectList } from '../api/queries';
import type { SearchHit } from '../api/types';
import { fullTime, time } from '../components/format';
import { placeOf, SnippetText } from '../components/snippet';
import { Badge } from '../components/ui';
import { titleOf } from '../components/title';

// Hit is one search result: a message, or the title of a conversation. It opens the
// conversation there.
export function Hit({ hit, onOpen }: { hit: SearchHit; onOpen: (id: string) => void }) {
  const { session, message } = hit;
  const agents = useQuery(agentList('any'));
  const projects = useQuery(projectList());
  const agent = agents.data?.find((one) => one.id === session.agent_id)?.name;
  const project = projects.data?.find((one) => one.id === session.project_id)?.name;
  const id = message?.id ?? session.id;
  return (
    <Link
      to="/c/$id"
      params={{ id: session.id }}
      search={message ? placeOf(hit) : {}}
      data-hit={id}
      onClick={() => onOpen(id)}
      className="block scroll-my-24 rounded-xl border border-transparent px-4 py-3 hover:bg-hover focus-visible:border-accent focus-visible:bg-hover"
    >
      <span className="flex items-center gap-2 text-sm">
        <span className="min-w-0 flex-1 truncate font-medium">{message ? titleOf(session) : <SnippetText snippet={hit.snippet} />}</span>
        {session.archived_at && <Badge>archived</Badge>}
        {message && (
          <time className="shrink-0 text-xs text-faint" dateTime={message.created_at} title={fullTime(message.created_at)}>
            {time(message.created_at)}
          </time>
        )}
      </span>
      {message && (
        <span className="mt-1 line-clamp-3 text-sm [overflow-wrap:anywhere] text-soft">
          <SnippetText snippet={hit.snippet} />
        </span>
      )}
      <span className="mt-1.5 flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-faint">
        <Who hit={hit} agent={agent} />
        {agent && message?.role !== 'assistant' && <Fact icon={<Bot size={12} />}>{agent}</Fact>}
        {project && <span className="truncate">{project}</span>}
      </span>
    </Link>
  );
}

function Who({ hit: { message }, agent }: { hit: SearchHit; agent: string | undefined }) {
  if (!message) return <Fact icon={<Type size={12} />}>in the title</Fact>;
  switch (message.role) {
    case 'user':
      return <Fact icon={<User size={12} />}>{message.author.name || 'a person'}</Fact>;
    case 'assistant':
      return <Fact icon={<Bot size={12} />}>{message.author.name || agent || 'the agent'}</Fact>;
    case 'tool_call':
      return <Fact icon={<Wrench size={12} />}>{message.tool_name || 'a tool'} was called</Fact>;
    case 'tool_result':
      return <Fact icon={<Wrench size={12} />}>{message.tool_name || 'a tool'} answered</Fact>;
    case 'summary':
      return <Fact icon={<FoldVertical size={12} />}>summary</Fact>;
    default:
      return <Fact icon={<MessageSquare size={12} />}>{message.role}</Fact>;
  }
}

function Fact({ icon, children }: { icon: ReactNode; children: ReactNode }) {
  return (
    <span className="inline-flex items-center gap-1">
      <span aria-hidden>{icon}</span>
      <span>{children}</span>
    </span>
  );
}
