import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { agentList, sessionList } from '../api/queries';
import { Dialog } from './ui';

const PLACES = [
  ['New conversation', '/new'],
  ['Approvals', '/inbox'],
  ['Agents', '/agents'],
  ['Projects', '/projects'],
  ['Usage', '/usage'],
  ['Models', '/settings/models'],
  ['Providers', '/settings/providers'],
  ['Appearance', '/settings/appearance'],
] as const;

// Palette goes to anything by its name.
export function Palette({ open, onClose }: { open: boolean; onClose: () => void }) {
  const navigate = useNavigate();
  const sessions = useInfiniteQuery({ ...sessionList({}), enabled: open });
  const agents = useQuery({ ...agentList(), enabled: open });
  const go = (to: string) => {
    onClose();
    void navigate({ to });
  };
  const item = 'cursor-default rounded-lg px-3 py-2 text-sm data-[selected=true]:bg-hover truncate';
  return (
    <Dialog open={open} onClose={onClose} title="Go to">
      <Command label="Go to" className="-mx-2">
        <Command.Input autoFocus placeholder="A conversation, an agent, a page…" className="mb-2 h-10 w-full rounded-lg border border-line-strong bg-bg px-3 text-sm" />
        <Command.List className="max-h-[50dvh] overflow-y-auto">
          <Command.Empty className="px-3 py-6 text-center text-sm text-faint">Nothing has that name.</Command.Empty>
          <Command.Group heading="Pages" className="text-xs text-faint [&_[cmdk-item]]:text-text">
            {PLACES.map(([name, to]) => (
              <Command.Item key={to} className={item} onSelect={() => go(to)}>
                {name}
              </Command.Item>
            ))}
          </Command.Group>
          <Command.Group heading="Agents" className="text-xs text-faint [&_[cmdk-item]]:text-text">
            {agents.data?.map((agent) => (
              <Command.Item key={agent.id} value={`${agent.name} ${agent.id}`} className={item} onSelect={() => go(`/agents/${agent.id}`)}>
                {agent.name}
              </Command.Item>
            ))}
          </Command.Group>
          <Command.Group heading="Conversations" className="text-xs text-faint [&_[cmdk-item]]:text-text">
            {sessions.data?.pages.flatMap((page) => page.data).map((session) => (
              <Command.Item key={session.id} value={`${session.title} ${session.id}`} className={item} onSelect={() => go(`/c/${session.id}`)}>
                {session.title || 'Untitled'}
              </Command.Item>
            ))}
          </Command.Group>
        </Command.List>
      </Command>
    </Dialog>
  );
}
