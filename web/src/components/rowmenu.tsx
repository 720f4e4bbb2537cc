import { useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { MoreHorizontal, Pencil, Pin, PinOff, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { request, sentence } from '../api/http';
import type { Session } from '../api/types';
import { titleOf } from './title';
import { Button, Dialog, Input, Menu } from './ui';

const LONGEST_TITLE = 200;

// RowMenu is the menu of a conversation in the list.
export function RowMenu({ session }: { session: Session }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const open = useParams({ strict: false }).id;
  const [asks, setAsks] = useState<'rename' | 'delete' | null>(null);
  const [title, setTitle] = useState('');
  const [error, setError] = useState('');
  const name = titleOf(session);
  const path = `/v1/sessions/${session.id}`;
  const act = (work: Promise<unknown>) => {
    setError('');
    work.then(
      () => {
        setAsks(null);
        void queries.invalidateQueries({ queryKey: ['sessions'] });
      },
      (failure: unknown) => setError(sentence(failure)),
    );
  };
  const patch = (body: object) => act(request(path, { method: 'PATCH', body }));
  const remove = () =>
    act(
      request(path, { method: 'DELETE' }).then(() => {
        if (open === session.id) void navigate({ to: '/new' });
      }),
    );
  const close = () => {
    setAsks(null);
    setError('');
  };
  return (
    <>
      <Menu
        trigger={
          <button type="button" aria-label={`Menu of ${name}`} className="inline-flex size-7 items-center justify-center rounded-lg bg-raised text-soft hover:bg-hover hover:text-text">
            <MoreHorizontal size={15} aria-hidden />
          </button>
        }
        entries={[
          {
            label: 'Rename',
            icon: <Pencil size={14} />,
            takesFocus: true,
            onSelect: () => {
              setTitle(session.title);
              setAsks('rename');
            },
          },
          { label: session.pinned ? 'Unpin' : 'Pin', icon: session.pinned ? <PinOff size={14} /> : <Pin size={14} />, onSelect: () => patch({ pinned: !session.pinned }) },
          { label: 'Delete', icon: <Trash2 size={14} />, danger: true, takesFocus: true, onSelect: () => setAsks('delete') },
        ]}
      />
      <Dialog open={asks === 'rename'} onClose={close} title="Rename the conversation">
        <form
          className="space-y-3"
          onSubmit={(event) => {
            event.preventDefault();
            patch({ title: title.trim() });
          }}
        >
          <Input aria-label="Title" dir="auto" autoFocus value={title} maxLength={LONGEST_TITLE} onChange={(event) => setTitle(event.target.value)} />
          <Said error={error} />
          <div className="flex justify-end gap-2">
            <Button onClick={close}>Cancel</Button>
            <Button look="primary" type="submit" disabled={title.trim() === ''}>
              Rename
            </Button>
          </div>
        </form>
      </Dialog>
      <Dialog open={asks === 'delete'} onClose={close} title={`Delete “${name}”?`} about="Its messages, calls and events are deleted permanently. Forks keep the messages that they share.">
        <Said error={error} />
        <div className="flex justify-end gap-2">
          <Button onClick={close}>Keep it</Button>
          <Button look="danger" onClick={remove}>
            Delete
          </Button>
        </div>
      </Dialog>
      <Dialog open={asks === null && error !== ''} onClose={close} title="That did not work" about={error}>
        <div className="flex justify-end">
          <Button onClick={close}>Close</Button>
        </div>
      </Dialog>
    </>
  );
}

function Said({ error }: { error: string }) {
  return error ? (
    <p role="alert" className="text-sm text-bad">
      {error}
    </p>
  ) : null;
}
