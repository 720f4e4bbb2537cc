import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { ListTree, ScanSearch } from 'lucide-react';
import { Suspense, useEffect, useRef, useState } from 'react';
import { request } from '../api/http';
import { modelList } from '../api/queries';
import type { Session } from '../api/types';
import { useOwns, useReader } from '../components/role';
import { StatusDot, statusName } from '../components/status';
import { titleOf } from '../components/title';
import { Badge, IconButton } from '../components/ui';
import { part } from '../live/arrive';
import type { Transcript } from '../live/transcript';
import { Breadcrumb } from './breadcrumb';
import { ConversationMenu } from './menu';
import { Meter, useWindow } from './meter';
import { Presence } from './presence';

const LONGEST_TITLE = 200;
const ModelChange = part(() => import('./modelchange'), 'ModelChange');

export function Header({ transcript }: { transcript: Transcript }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { panel } = useSearch({ from: '/c/$id' });
  const [renaming, setRenaming] = useState(false);
  const reader = useReader();
  const { session } = transcript;
  if (!session) return <header className="h-12 shrink-0 border-b border-line" />;
  const changed = (next: Session) => {
    transcript.became(next);
    queries.setQueryData(['session', next.id], next);
  };
  return (
    <header className="@container shrink-0 border-b border-line">
      <div className="flex h-12 items-center gap-2 px-3 max-md:pl-12">
      <Breadcrumb session={session} />
      <StatusDot status={session.status} wait={session.wait_reason} />
      {renaming ? (
        <Rename session={session} onChanged={changed} onClose={() => setRenaming(false)} />
      ) : (
        <h1 className="min-w-16 truncate text-sm font-semibold" title={reader ? undefined : 'Double-click to rename'} onDoubleClick={() => setRenaming(!reader)}>
          {titleOf(session)}
        </h1>
      )}
      <span className="sr-only">{statusName(session.status, session.wait_reason)}</span>
      {session.archived_at && <Badge>archived</Badge>}
      <Presence id={session.id} />
      <span className="flex-1" />
      {!reader && <ModelChoice session={session} onChanged={changed} />}
      <Meter transcript={transcript} session={session} panel={panel} />
      <span className="flex @max-lg:hidden">
        <IconButton name="Outline" aria-pressed={panel === 'outline'} onClick={() => void navigate({ to: '/c/$id', params: { id: session.id }, search: panel === 'outline' ? {} : { panel: 'outline' } })}>
          <ListTree size={16} />
        </IconButton>
        <IconButton name="Inspect" onClick={() => void navigate({ to: '/c/$id/inspect', params: { id: session.id } })}>
          <ScanSearch size={16} />
        </IconButton>
      </span>
      <ConversationMenu session={session} onChanged={changed} onRename={() => setRenaming(true)} />
      </div>
    </header>
  );
}

// Rename is the title as a field: Enter saves it, Escape restores it.
function Rename({ session, onChanged, onClose }: { session: Session; onChanged: (session: Session) => void; onClose: () => void }) {
  const [title, setTitle] = useState(session.title);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.select(), []);
  const save = () => {
    onClose();
    if (title.trim() === '' || title === session.title) return;
    onChanged({ ...session, title });
    request<Session>(`/v1/sessions/${session.id}`, { method: 'PATCH', body: { title } }).then(onChanged, () => onChanged(session));
  };
  return (
    <input
      ref={field}
      aria-label="Title"
      value={title}
      maxLength={LONGEST_TITLE}
      onChange={(event) => setTitle(event.target.value)}
      onBlur={save}
      onKeyDown={(event) => {
        if (event.key === 'Enter') save();
        if (event.key === 'Escape') onClose();
      }}
      className="h-8 w-72 min-w-0 rounded-lg border border-accent bg-bg px-2 text-sm font-semibold"
    />
  );
}

// ModelChoice changes the model of the conversation, from the next turn on. Where a model has read it already, it first
// tells what that costs.
function ModelChoice({ session, onChanged }: { session: Session; onChanged: (session: Session) => void }) {
  const { data: models } = useQuery(modelList());
  const { model } = useWindow(session);
  const owns = useOwns(session.owner_id);
  const inherited = session.model === null ? model : '';
  const simulator = models?.data.find((one) => one.id === model)?.simulator ?? model.startsWith('sim/');
  const [wanted, setWanted] = useState<string | null>(); // undefined: none waits to be confirmed
  const choose = (next: string | null) => {
    onChanged({ ...session, model: next });
    request<Session>(`/v1/sessions/${session.id}`, { method: 'PATCH', body: { model: next } }).then(onChanged, () => onChanged(session));
  };
  return (
    <span className="flex shrink-0 items-center gap-2">
      {simulator && (
        <span className="@max-lg:hidden">
          <Badge tone="warn">simulator</Badge>
        </span>
      )}
      <select
        id="model-choice"
        aria-label="Model of this conversation"
        value={session.model ?? ''}
        disabled={!owns}
        onChange={(event) => (session.statistics.calls > 0 ? setWanted : choose)(event.target.value || null)}
        className="field-sizing-content h-8 max-w-44 truncate rounded-lg bg-transparent px-1 text-xs text-soft hover:bg-hover @max-lg:max-w-24"
      >
        <option value="">{inherited || 'the agent’s model'}</option>
        {session.model && !models?.data.some((one) => one.id === session.model) && <option value={session.model}>{session.model}</option>}
        {models?.data.map((one) => (
          <option key={one.id} value={one.id}>
            {one.id}
          </option>
        ))}
      </select>
      {wanted !== undefined && (
        <Suspense fallback={null}>
          <ModelChange session={session} model={wanted} name={wanted ?? 'the agent’s model'} onChange={() => choose(wanted)} onClose={() => setWanted(undefined)} />
        </Suspense>
      )}
    </span>
  );
}
