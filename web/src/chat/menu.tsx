import { useNavigate } from '@tanstack/react-router';
import { Archive, ArchiveRestore, Download, Eraser, FileText, FoldVertical, Info, ListTree, MoreHorizontal, Pencil, Pin, PinOff, ScanSearch, SlidersHorizontal, Trash2 } from 'lucide-react';
import { Suspense, useState } from 'react';
import { request, sentence } from '../api/http';
import type { Session } from '../api/types';
import { useReader } from '../components/role';
import { Button, Dialog, Menu, type MenuEntry } from '../components/ui';
import { part } from '../live/arrive';
import type { Panel } from '../router';
import { summarise } from './summarising';

const SettingsDialog = part(() => import('./conversationsettings'), 'SettingsDialog');

interface Props {
  session: Session;
  onChanged: (session: Session) => void;
  onRename: () => void;
}

// ConversationMenu has the actions for a whole conversation.
export function ConversationMenu({ session, onChanged, onRename }: Props) {
  const navigate = useNavigate();
  const [dialog, setDialog] = useState<'settings' | 'delete' | null>(null);
  const [error, setError] = useState('');
  const told = (failure: unknown) => setError(sentence(failure));
  const path = `/v1/sessions/${session.id}`;
  const patch = (body: Record<string, unknown>) => void request<Session>(path, { method: 'PATCH', body }).then(onChanged, told);
  const panel = (name: Panel) => void navigate({ to: '/c/$id', params: { id: session.id }, search: { panel: name } });
  const reader = useReader();
  const views: MenuEntry[] = [
    { label: 'Details', icon: <Info size={14} />, onSelect: () => panel('info') },
    { label: 'Outline', icon: <ListTree size={14} />, onSelect: () => panel('outline') },
    { label: 'Inspect', icon: <ScanSearch size={14} />, onSelect: () => void navigate({ to: '/c/$id/inspect', params: { id: session.id } }) },
  ];
  const exports: MenuEntry[] = [
    { label: 'Export as Markdown', icon: <FileText size={14} />, onSelect: () => download(`${path}/export?format=markdown`) },
    { label: 'Export as JSON', icon: <Download size={14} />, onSelect: () => download(`${path}/export`) },
  ];
  const reading = [...views, null, ...exports]; // everything that a reader may do
  const closed = () => {
    setDialog(null);
    setTimeout(() => document.querySelector<HTMLElement>('[aria-label="Conversation menu"]')?.focus());
  };
  const over = () => setTimeout(() => setError(''));
  return (
    <>
      <Menu
        trigger={
          <button type="button" aria-label="Conversation menu" className="inline-flex size-8 shrink-0 items-center justify-center rounded-lg text-soft hover:bg-hover">
            <MoreHorizontal size={17} aria-hidden />
          </button>
        }
        entries={reader ? reading : [
          { label: 'Rename', icon: <Pencil size={14} />, onSelect: onRename, takesFocus: true },
          { label: 'Settings…', icon: <SlidersHorizontal size={14} />, onSelect: () => setDialog('settings') },
          session.pinned
            ? { label: 'Unpin', icon: <PinOff size={14} />, onSelect: () => patch({ pinned: false }) }
            : { label: 'Pin', icon: <Pin size={14} />, onSelect: () => patch({ pinned: true }) },
          null,
          ...views,
          null,
          { label: 'Summarise now…', icon: <FoldVertical size={14} />, onSelect: () => summarise(session.id), takesFocus: true },
          { label: 'Clear context', icon: <Eraser size={14} />, onSelect: () => void request<Session>(`${path}/clear`, { body: {} }).then(onChanged, told) },
          ...exports,
          null,
          session.archived_at
            ? { label: 'Reopen', icon: <ArchiveRestore size={14} />, onSelect: () => patch({ archived: false }) }
            : { label: 'Archive', icon: <Archive size={14} />, onSelect: () => patch({ archived: true }) },
          { label: 'Delete', icon: <Trash2 size={14} />, danger: true, onSelect: () => setDialog('delete') },
        ]}
      />
      <Dialog open={error !== ''} title="That did not work" about={error} onClose={over}>
        <div className="flex justify-end">
          <Button onClick={over}>Close</Button>
        </div>
      </Dialog>
      {dialog === 'settings' && (
        <Suspense>
          <SettingsDialog session={session} onChanged={onChanged} onClose={closed} />
        </Suspense>
      )}
      <Dialog open={dialog === 'delete'} onClose={closed} title="Delete this conversation?" about="Its messages, calls and events are deleted permanently. Forks keep the messages that they share.">
        <div className="flex justify-end gap-2">
          <Button onClick={closed}>Keep it</Button>
          <Button
            look="danger"
            onClick={() => {
              setDialog(null);
              request(path, { method: 'DELETE' }).then(() => void navigate({ to: '/new' }), told);
            }}
          >
            Delete
          </Button>
        </div>
      </Dialog>
    </>
  );
}

// download leaves the file to the browser: the server sends it as an attachment.
function download(address: string): void {
  const link = document.createElement('a');
  link.href = address;
  link.download = '';
  link.click();
}
