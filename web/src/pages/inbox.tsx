import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { Inbox } from 'lucide-react';
import { useEffect } from 'react';
import { agentList, approvalList, questionList } from '../api/queries';
import { titled } from '../components/tab';
import { Button, Empty, Failed, Loading, Page } from '../components/ui';
import { Conversations } from '../inbox/conversations';
import { Item, TYPES } from '../inbox/item';
import { withOpened } from '../inbox/list';
import { inboxItem, inboxList, itemedApprovals } from '../inbox/queries';
import { Choice } from './filters';

type Filter = { unread?: string; type?: string; agent?: string; item?: string };

export function InboxPage() {
  const { item: open, ...filter } = useSearch({ from: '/inbox' });
  const navigate = useNavigate();
  const choose = (change: Filter) => void navigate({ to: '/inbox', search: { item: open, ...filter, ...change }, replace: true });
  const agents = useQuery(agentList('any'));
  const list = useInfiniteQuery(inboxList(filter));
  const opened = useQuery({ ...inboxItem(open ?? ''), enabled: !!open });
  const itemed = useQuery(itemedApprovals());
  const pending = useQuery(approvalList('pending'));
  const questions = useQuery(questionList());
  useEffect(() => titled('Inbox – Parley'), []);
  const items = withOpened(list.data?.pages.flatMap((page) => page.data) ?? [], open ? opened.data : undefined);
  const filtered = Object.values(filter).some(Boolean);
  const nothing = list.data && items.length === 0;
  return (
    <Page title="Inbox" about="What agents that work on their own have for you, and what waits in conversations.">
      {(filtered || items.length > 0) && <Filters choice={filter} agents={agents.data ?? []} onChange={choose} />}
      {list.isPending && <Loading what="the inbox" />}
      {list.isError && <Failed error={list.error} onRetry={() => void list.refetch()} />}
      {open && opened.isError && <Failed error={opened.error} onRetry={() => void opened.refetch()} />}
      {nothing && filtered && (
        <Empty icon={<Inbox size={28} />} title="No item matches.">
          <Button onClick={() => choose({ unread: undefined, type: undefined, agent: undefined })}>Show all items</Button>
        </Empty>
      )}
      {nothing && !filtered && pending.data?.length === 0 && questions.data?.length === 0 && (
        <Empty icon={<Inbox size={28} />} title="Nothing waits for you.">
          <p>
            Agents of a{' '}
            <Link to="/team" className="text-accent underline underline-offset-2">
              team
            </Link>{' '}
            work on their own, and brief and ask you here.
          </p>
        </Empty>
      )}
      <ul aria-label="Items" className="space-y-3">
        {items.map((item) => (
          <Item
            key={item.id}
            item={item}
            agent={agents.data?.find((one) => one.id === item.agent_id)?.name ?? 'An agent'}
            open={item.id === open}
            onToggle={() => choose({ item: item.id === open ? undefined : item.id })}
          />
        ))}
      </ul>
      {list.hasNextPage && (
        <Button className="mt-3" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show earlier items
        </Button>
      )}
      <Conversations itemed={new Set(itemed.data)} />
    </Page>
  );
}

function Filters({ choice, agents, onChange }: { choice: Filter; agents: { id: string; name: string }[]; onChange: (change: Filter) => void }) {
  return (
    <div role="group" aria-label="Filters" className="mb-4 grid grid-cols-2 items-center gap-2 sm:flex">
      <Choice label="Type" value={choice.type ?? ''} all="All types" options={Object.entries(TYPES)} onChange={(type) => onChange({ type: type || undefined })} />
      <Choice label="Agent" value={choice.agent ?? ''} all="All agents" options={agents.map((one) => [one.id, one.name])} onChange={(agent) => onChange({ agent: agent || undefined })} />
      <label className="flex h-9 items-center gap-2 text-sm">
        <input type="checkbox" checked={choice.unread === 'true'} onChange={(event) => onChange({ unread: event.target.checked ? 'true' : undefined })} /> Only unread
      </label>
    </div>
  );
}
