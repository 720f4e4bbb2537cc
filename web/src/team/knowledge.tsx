import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { request, sentence } from '../api/http';
import type { KnowledgeItem, Team } from '../api/types';
import { fullTime } from '../components/format';
import { Badge, Button, Empty, Failed, Loading, Select } from '../components/ui';
import { SourceLink } from '../markdown/source';
import { type Draft, KnowledgeEditor } from './knowledgeeditor';
import { knowledgeOf } from './queries';

// Knowledge is what a team, or one of its members, knows from earlier work, with the messages that it comes from.
export function Knowledge({ team, mayManage }: { team: Team; mayManage: boolean }) {
  const [member, setMember] = useState(''); // empty: the whole team
  const list = useInfiniteQuery(knowledgeOf(member ? { agent: member } : { team: team.slug }));
  const [draft, setDraft] = useState<Draft | null>(null);
  const rows = list.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <section aria-labelledby="knowledge" className="mt-10">
      <div className="mb-2 flex flex-wrap items-center justify-between gap-3">
        <h2 id="knowledge" className="font-semibold">
          Knowledge
        </h2>
        <span className="flex flex-wrap items-center gap-3">
          <Select aria-label="Who knows it" value={member} onChange={(event) => setMember(event.target.value)} className="sm:w-56">
            <option value="">The whole team</option>
            {team.members.map((one) => (
              <option key={one.agent_id} value={one.slug}>
                Only {one.name}
              </option>
            ))}
          </Select>
          {mayManage && <Button onClick={() => setDraft({ id: null, member, text: '', kind: 'fact' })}>Write an item</Button>}
        </span>
      </div>
      {draft && <KnowledgeEditor team={team} draft={draft} onClose={() => setDraft(null)} />}
      {list.isPending && <Loading what="what is known" />}
      {list.isError && <Failed error={list.error} onRetry={() => void list.refetch()} />}
      {list.isSuccess && rows.length === 0 && <Empty title="Nothing is known here yet.">Agents note what they learn, and what they learn is drawn from their work.</Empty>}
      <ul className="space-y-2">
        {rows.map((item) => (
          <Row key={item.id} item={item} mayManage={mayManage} onEdit={() => setDraft({ id: item.id, member: '', text: item.text, kind: item.kind })} />
        ))}
      </ul>
      {list.hasNextPage && (
        <Button className="mt-3" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show earlier ones
        </Button>
      )}
    </section>
  );
}

function Row({ item, mayManage, onEdit }: { item: KnowledgeItem; mayManage: boolean; onEdit: () => void }) {
  const queries = useQueryClient();
  const [error, setError] = useState('');
  const act = (method: string, body?: object) => {
    setError('');
    request(`/v1/knowledge/${item.id}`, { method, body }).then(
      () => void queries.invalidateQueries({ queryKey: ['knowledge'] }),
      (failure: unknown) => setError(sentence(failure)),
    );
  };
  const active = item.status === 'active';
  const asks = active && item.kind === 'procedure' && !item.approved_at;
  return (
    <li data-knowledge={item.id} className="rounded-xl border border-line px-4 py-3 text-sm">
      <p dir="auto" className={active ? 'break-words whitespace-pre-wrap' : 'break-words whitespace-pre-wrap text-faint line-through'}>
        {item.text}
      </p>
      <p className="mt-2 flex flex-wrap items-center gap-x-2 gap-y-1 text-xs text-faint">
        <Badge>{item.kind}</Badge>
        {item.pinned && <Badge tone="accent">Pinned</Badge>}
        {asks && <Badge tone="warn">Not used until you approve it</Badge>}
        {!active && <Badge>{item.status}</Badge>}
        <span>
          {item.author.name || 'an agent'} · {fullTime(item.changed_at ?? item.created_at)}
        </span>
        {item.sources.length > 0 && (
          <span className="flex flex-wrap gap-1">
            From
            {item.sources.map((source) => (
              <SourceLink key={source.message_id} session={source.session_id} sequence={String(source.sequence)} />
            ))}
          </span>
        )}
      </p>
      {mayManage && active && (
        <div className="mt-2 flex flex-wrap gap-2">
          {asks && <Button onClick={() => act('PATCH', { approved: true })}>Approve</Button>}
          <Button look="quiet" onClick={() => act('PATCH', { pinned: !item.pinned })}>
            {item.pinned ? 'Unpin' : 'Pin'}
          </Button>
          <Button look="quiet" onClick={onEdit}>
            Edit
          </Button>
          <Button look="quiet" onClick={() => act('DELETE')}>
            Forget
          </Button>
        </div>
      )}
      {error && (
        <p role="alert" className="mt-2 text-bad">
          {error}
        </p>
      )}
    </li>
  );
}
