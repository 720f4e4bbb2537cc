import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Archive, ArchiveRestore, ChevronRight, Download, Eraser, FoldVertical, Info, MoreHorizontal, Pencil, Pin, PinOff, ScanSearch, Trash2 } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Link } from '@tanstack/react-router';
import { request, sentence } from '../api/http';
import { agentOf, modelList, sessionOf } from '../api/queries';
import type { Session } from '../api/types';
import { StatusDot, statusName } from '../components/status';
import { Badge, Button, cx, Dialog, IconButton, Input, Menu } from '../components/ui';
import type { Transcript } from '../live/transcript';

export function Header({ transcript }: { transcript: Transcript }) {
  const { session } = transcript;
  if (!session) return <header className="h-12 shrink-0 border-b border-line" />;
  return (
    <header className="flex h-12 shrink-0 items-center gap-2 border-b border-line px-3 max-md:pl-12">
      {session.parent_session_id && <Parent session={session} />}
      <StatusDot status={session.status} wait={session.wait_reason} />
      <h1 className="min-w-0 truncate text-sm font-semibold">{session.title || 'Untitled'}</h1>
      <span className="sr-only">{statusName(session.status, session.wait_reason)}</span>
      {session.archived_at && <Badge>archived</Badge>}
      <span className="flex-1" />
      <ModelChoice session={session} />
      <Tools session={session} />
    </header>
  );
}

function Parent({ session }: { session: Session }): ReactNode {
  const { data: parent } = useQuery(sessionOf(session.parent_session_id!));
  return (
    <>
      <Link to="/c/$id" params={{ id: session.parent_session_id! }} className="max-w-40 truncate text-sm text-soft hover:text-text">
        {parent?.title || 'Parent'}
      </Link>
      <ChevronRight size={14} aria-hidden className="shrink-0 text-faint" />
    </>
  );
}

// ModelChoice changes the model of the conversation; the next turn uses it.
function ModelChoice({ session }: { session: Session }) {
  const queries = useQueryClient();
  const { data: models } = useQuery(modelList());
  const { data: agent } = useQuery(agentOf(session.agent_id));
  const inherited = agent?.model ?? models?.default ?? '';
  const shown = session.model ?? inherited;
  const simulator = models?.data.find((model) => model.id === shown)?.simulator ?? shown.startsWith('sim/');
  return (
    <span className="flex items-center gap-2">
      {simulator && <Badge tone="warn">simulator</Badge>}
      <select
        aria-label="Model of this conversation"
        value={session.model ?? ''}
        onChange={(event) => {
          void request<Session>(`/v1/sessions/${session.id}`, { method: 'PATCH', body: { model: event.target.value || null } }).then((changed) => queries.setQueryData(['session', session.id], changed));
        }}
        className="h-8 max-w-44 truncate rounded-lg bg-transparent px-1 text-xs text-soft hover:bg-hover max-sm:w-24"
      >
        <option value="">{inherited || 'the agent’s model'}</option>
        {session.model && !models?.data.some((model) => model.id === session.model) && <option value={session.model}>{session.model}</option>}
        {models?.data.map((model) => (
          <option key={model.id} value={model.id}>
            {model.id}
          </option>
        ))}
      </select>
    </span>
  );
}

function Tools({ session }: { session: Session }) {
  const navigate = useNavigate();
  const [dialog, setDialog] = useState<'rename' | 'delete' | null>(null);
  const [error, setError] = useState('');
  const patch = (body: Record<string, unknown>) => request(`/v1/sessions/${session.id}`, { method: 'PATCH', body }).catch((failure: unknown) => setError(sentence(failure)));
  const panel = (name: 'info' | 'trace') => void navigate({ to: '/c/$id', params: { id: session.id }, search: { panel: name } });
  return (
    <>
      <IconButton name="Details" onClick={() => panel('info')}>
        <Info size={16} />
      </IconButton>
      <IconButton name="Inspect" onClick={() => void navigate({ to: '/c/$id/inspect', params: { id: session.id } })}>
        <ScanSearch size={16} />
      </IconButton>
      <Menu
        trigger={
          <button type="button" aria-label="Conversation menu" className="inline-flex size-8 items-center justify-center rounded-lg text-soft hover:bg-hover">
            <MoreHorizontal size={17} aria-hidden />
          </button>
        }
        entries={[
          { label: 'Rename', icon: <Pencil size={14} />, onSelect: () => setDialog('rename') },
          session.pinned
            ? { label: 'Unpin', icon: <PinOff size={14} />, onSelect: () => void patch({ pinned: false }) }
            : { label: 'Pin', icon: <Pin size={14} />, onSelect: () => void patch({ pinned: true }) },
          { label: 'Summarise now', icon: <FoldVertical size={14} />, onSelect: () => void request(`/v1/sessions/${session.id}/compact`, { body: {} }).catch((failure: unknown) => setError(sentence(failure))) },
          { label: 'Clear context', icon: <Eraser size={14} />, onSelect: () => void request(`/v1/sessions/${session.id}/clear`, { body: {} }).catch((failure: unknown) => setError(sentence(failure))) },
          { label: 'Export as JSON', icon: <Download size={14} />, onSelect: () => void exportSession(session) },
          null,
          session.archived_at
            ? { label: 'Reopen', icon: <ArchiveRestore size={14} />, onSelect: () => void patch({ archived: false }) }
            : { label: 'Archive', icon: <Archive size={14} />, onSelect: () => void patch({ archived: true }) },
          { label: 'Delete', icon: <Trash2 size={14} />, danger: true, onSelect: () => setDialog('delete') },
        ]}
      />
      {error && <Dialog open title="That did not work" about={error} onClose={() => setError('')} children={null} />}
      <Rename key={session.title} open={dialog === 'rename'} session={session} onClose={() => setDialog(null)} />
      <Dialog open={dialog === 'delete'} onClose={() => setDialog(null)} title="Delete this conversation?" about="Its messages, calls and events are deleted for good. Forks keep what they share.">
        <div className="flex justify-end gap-2">
          <Button onClick={() => setDialog(null)}>Keep it</Button>
          <Button
            look="danger"
            onClick={() => {
              setDialog(null);
              request(`/v1/sessions/${session.id}`, { method: 'DELETE' }).then(
                () => void navigate({ to: '/new' }),
                (failure: unknown) => setError(sentence(failure)),
              );
            }}
          >
            Delete
          </Button>
        </div>
      </Dialog>
    </>
  );
}

function Rename({ open, session, onClose }: { open: boolean; session: Session; onClose: () => void }) {
  const [title, setTitle] = useState(session.title);
  return (
    <Dialog open={open} onClose={onClose} title="Rename">
      <form
        className={cx('flex gap-2')}
        onSubmit={(event) => {
          event.preventDefault();
          onClose();
          void request(`/v1/sessions/${session.id}`, { method: 'PATCH', body: { title } });
        }}
      >
        <Input aria-label="Title" value={title} onChange={(event) => setTitle(event.target.value)} maxLength={200} />
        <Button look="primary" type="submit">
          Save
        </Button>
      </form>
    </Dialog>
  );
}

const EXPORT_PAGE = 500;

// exportSession saves the session with its whole record as one file.
async function exportSession(session: Session): Promise<void> {
  const messages: unknown[] = [];
  let cursor: string | null = null;
  do {
    const page: { data: unknown[]; next: string | null } = await request(`/v1/sessions/${session.id}/messages`, { query: { limit: EXPORT_PAGE, cursor } });
    messages.push(...page.data);
    cursor = page.next;
  } while (cursor);
  const url = URL.createObjectURL(new Blob([JSON.stringify({ session, messages }, null, 2)], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `${session.title.replace(/[^\p{L}\p{N}]+/gu, '-').slice(0, 60) || session.id}.json`;
  link.click();
  URL.revokeObjectURL(url);
}
