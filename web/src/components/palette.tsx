import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useLocation, useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { Search } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { agentList, principal, sessionList } from '../api/queries';
import { quickSearch } from '../api/search';
import { time } from './format';
import { rank } from './rank';
import { useSettled } from './settled';
import { titleOf } from './title';
import { placeOf, SnippetText } from './snippet';
import { ForkMark } from './status';
import { cx, Dialog } from './ui';

const PAUSE_MS = 120; // after typing, before messages are searched

const PLACES = [
  ['New conversation', '/new'],
  ['Search', '/search'],
  ['Inbox', '/inbox'],
  ['Teams', '/team'],
  ['Agents', '/agents'],
  ['Projects', '/projects'],
  ['Usage', '/usage'],
  ['Models', '/settings/models'],
  ['Providers', '/settings/providers'],
  ['Tool servers', '/settings/tool-servers'],
  ['Keys', '/settings/keys'],
  ['Workspace', '/settings/workspace'],
  ['Appearance', '/settings/appearance'],
  ['Keyboard shortcuts', '/settings/shortcuts'],
] as const;

const LESS = 0.99; // ranks below a page of the same name

// byName ranks by the visible names of an entry, not by its id.
const byName = (value: string, text: string, names?: string[]) => (names?.length ? LESS * rank(names.join(' '), text) : rank(value, text));

// Palette finds anything by its name, and messages by their text.
export function Palette({ open, onClose }: { open: boolean; onClose: () => void }) {
  const navigate = useNavigate();
  const sessions = useInfiniteQuery({ ...sessionList({}), enabled: open });
  const agents = useQuery({ ...agentList(), enabled: open });
  const me = useQuery({ ...principal(), enabled: open });
  const [text, setText] = useState('');
  const settled = useSettled(text.trim(), PAUSE_MS);
  const found = useQuery({ ...quickSearch(settled), enabled: open && settled !== '' });
  useEffect(() => {
    if (!open) setText('');
  }, [open]);
  const known = new Set(sessions.data?.pages.flatMap((page) => page.data).map((session) => session.id));
  const hits = settled !== '' && text.trim() !== '' ? (found.data?.data ?? []) : [];
  const titles = hits.filter((one) => !one.message && !known.has(one.session.id));
  const talk = /^\/c\/([^/]+)/.exec(useLocation().pathname)?.[1]; // the conversation that is open
  const go = (to: string, search: Record<string, string> = {}) => {
    onClose();
    void navigate({ to, search });
  };
  const item = 'cursor-default rounded-lg px-3 py-2 text-sm data-[selected=true]:bg-hover truncate';
  const hit = (id: string, name: string, to: string, search: Record<string, string>, shown: ReactNode) => (
    <Command.Item key={id} value={id} keywords={[name]} forceMount className={item} onSelect={() => go(to, search)}>
      {shown}
    </Command.Item>
  );
  return (
    <Dialog open={open} onClose={onClose} title="Go to">
      <Command label="Go to" filter={byName} className="-mx-2">
        <Command.Input autoFocus value={text} onValueChange={setText} placeholder="A conversation, a message, an agent, a page…" className="mb-2 h-10 w-full rounded-lg border border-line-strong bg-bg px-3 text-sm" />
        <Command.List className="max-h-[50dvh] overflow-y-auto">
          <Command.Group heading="Pages" className="text-xs text-faint [&_[cmdk-item]]:text-text">
            {[...PLACES.filter(([, to]) => to !== '/new' || me.data?.role !== 'reader'), ...(me.data?.role === 'admin' ? [['Audit', '/audit'] as const] : [])].map(([name, to]) => (
              <Command.Item key={to} className={item} onSelect={() => go(to)}>
                {name}
              </Command.Item>
            ))}
          </Command.Group>
          <Command.Group heading="Agents" className="text-xs text-faint [&_[cmdk-item]]:text-text">
            {agents.data?.map((agent) => (
              <Command.Item key={agent.id} value={agent.id} keywords={[agent.name]} className={item} onSelect={() => go(`/agents/${agent.id}`)}>
                {agent.name}
              </Command.Item>
            ))}
          </Command.Group>
          <Command.Group heading="Conversations" forceMount={titles.length > 0} className="text-xs text-faint [&_[cmdk-item]]:text-text">
            {sessions.data?.pages.flatMap((page) => page.data).map((session) => (
              <Command.Item key={session.id} value={session.id} keywords={[titleOf(session)]} className={item} onSelect={() => go(`/c/${session.id}`)}>
                <span className="flex items-center gap-2">
                  <ForkMark session={session} />
                  <span className="min-w-0 flex-1 truncate">{titleOf(session)}</span>
                  <time className="shrink-0 text-xs text-faint" dateTime={session.updated_at}>
                    {time(session.updated_at)}
                  </time>
                </span>
              </Command.Item>
            ))}
            {titles.map((one) => hit(`title ${one.session.id}`, one.session.title, `/c/${one.session.id}`, {}, <SnippetText snippet={one.snippet} />))}
          </Command.Group>
          {text.trim() !== '' && (
            <Command.Group heading="Messages" forceMount className="text-xs text-faint [&_[cmdk-item]]:text-text">
              {hit(
                'search',
                '',
                '/search',
                { q: text.trim() },
                <span className="flex items-center gap-2">
                  <Search size={14} aria-hidden /> Search messages for “{text.trim()}”
                </span>,
              )}
              {talk &&
                hit(
                  'search here',
                  '',
                  '/search',
                  { q: text.trim(), in: talk },
                  <span className="flex items-center gap-2">
                    <Search size={14} aria-hidden /> Search this conversation for “{text.trim()}”
                  </span>,
                )}
              {hits.map(
                (one) =>
                  one.message &&
                  hit(
                    one.message.id,
                    '',
                    `/c/${one.session.id}`,
                    placeOf(one),
                    <span className={cx(found.isPlaceholderData && 'opacity-50')}>
                      <SnippetText snippet={one.snippet} /> <span className="text-xs text-faint">{titleOf(one.session)}</span>
                    </span>,
                  ),
              )}
            </Command.Group>
          )}
        </Command.List>
      </Command>
    </Dialog>
  );
}
