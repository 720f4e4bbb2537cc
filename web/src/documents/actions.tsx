import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Archive, ArchiveRestore, Download, MoreHorizontal, Pencil, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { request, sentence } from '../api/http';
import type { Artifact } from '../api/types';
import { useOwns } from '../components/role';
import { Button, Dialog, Field, IconButton, Input, Menu } from '../components/ui';

const LONGEST_NAME = 200;

// DocumentMenu renames, labels, archives, downloads and deletes a document.
export function DocumentMenu({ document, version, mayWrite }: { document: Artifact; version: number; mayWrite: boolean }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const owns = useOwns(document.owner_id);
  const [asks, setAsks] = useState<'rename' | 'delete' | null>(null);
  const [name, setName] = useState('');
  const [labels, setLabels] = useState('');
  const [error, setError] = useState('');
  const path = `/v1/artifacts/${document.id}`;
  const act = (work: Promise<unknown>) => {
    setError('');
    work.then(
      () => {
        setAsks(null);
        void queries.invalidateQueries({ queryKey: ['documents'] });
        void queries.invalidateQueries({ queryKey: ['document', document.id], exact: true });
      },
      (failure: unknown) => setError(sentence(failure)),
    );
  };
  const patch = (body: object) => act(request(path, { method: 'PATCH', body }));
  const said = error && (
    <p role="alert" className="mt-3 text-sm text-bad">
      {error}
    </p>
  );
  return (
    <>
      <Menu
        trigger={
          <IconButton name="More">
            <MoreHorizontal size={17} />
          </IconButton>
        }
        entries={[
          {
            label: 'Download',
            icon: <Download size={14} />,
            onSelect: () => {
              const link = globalThis.document.createElement('a');
              link.href = `${path}/content?version=${version}`;
              link.download = document.name;
              link.click();
            },
          },
          ...(mayWrite
            ? [
                {
                  label: 'Name and labels',
                  icon: <Pencil size={14} />,
                  takesFocus: true,
                  onSelect: () => {
                    setName(document.name);
                    setLabels(document.labels.join(', '));
                    setAsks('rename');
                  },
                },
                {
                  label: document.archived_at ? 'Reopen' : 'Archive',
                  icon: document.archived_at ? <ArchiveRestore size={14} /> : <Archive size={14} />,
                  onSelect: () => patch({ archived: !document.archived_at }),
                },
              ]
            : []),
          ...(mayWrite && owns ? [null, { label: 'Delete', icon: <Trash2 size={14} />, danger: true, takesFocus: true, onSelect: () => setAsks('delete') }] : []),
        ]}
      />
      {asks === null && said}
      <Dialog open={asks === 'rename'} onClose={() => setAsks(null)} title="Name and labels">
        <form
          className="space-y-4"
          onSubmit={(event) => {
            event.preventDefault();
            patch({ name: name.trim(), labels: labels.split(',').map((one) => one.trim()).filter(Boolean) });
          }}
        >
          <Field label="Name">
            <Input value={name} maxLength={LONGEST_NAME} onChange={(event) => setName(event.target.value)} />
          </Field>
          <Field label="Labels" hint="With commas between them.">
            <Input value={labels} onChange={(event) => setLabels(event.target.value)} />
          </Field>
          {said}
          <div className="flex justify-end gap-2">
            <Button onClick={() => setAsks(null)}>Cancel</Button>
            <Button look="primary" type="submit" disabled={name.trim() === ''}>
              Save
            </Button>
          </div>
        </form>
      </Dialog>
      <Dialog open={asks === 'delete'} onClose={() => setAsks(null)} title="Delete this document?" about="With all its versions. This cannot be undone.">
        {said}
        <div className="flex justify-end gap-2">
          <Button onClick={() => setAsks(null)}>Keep it</Button>
          <Button look="danger" onClick={() => act(request(path, { method: 'DELETE' }).then(() => navigate({ to: '/documents' })))}>
            Delete
          </Button>
        </div>
      </Dialog>
    </>
  );
}
