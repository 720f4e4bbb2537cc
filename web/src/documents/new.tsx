import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { request } from '../api/http';
import { projectList } from '../api/queries';
import type { Artifact, ID } from '../api/types';
import { CreateDialog } from '../components/create';
import { Field, Input, Select } from '../components/ui';
import { KINDS } from './words';

// EMPTY are the contents that a new document begins with: an empty one, as its kind has it.
const EMPTY: Partial<Record<Artifact['kind'], unknown>> = { json: {} };

// NewDocument asks for what a document is; it is then written in the editor.
export function NewDocument({ open, project, onClose, onCreated }: { open: boolean; project?: ID; onClose: () => void; onCreated: (document: Artifact) => void }) {
  const projects = useQuery({ ...projectList(), enabled: open });
  const [name, setName] = useState('');
  const [kind, setKind] = useState<Artifact['kind']>('markdown');
  const [place, setPlace] = useState(project ?? '');
  const key = useMemo(() => `document ${crypto.randomUUID()}`, [name, kind, place]); // the same document is made once
  return (
    <CreateDialog
      open={open}
      onClose={onClose}
      title="New document"
      about="It keeps every version, with who wrote it."
      label="Create and write"
      ready={name.trim() !== ''}
      list="documents"
      create={() => request<Artifact>('/v1/artifacts', { key, body: { name: name.trim(), kind, content: EMPTY[kind] ?? '', ...(place ? { project_id: place } : {}) } })}
      onCreated={onCreated}
    >
      <Field label="Name">
        <Input value={name} onChange={(event) => setName(event.target.value)} placeholder="Outline" />
      </Field>
      <Field label="Kind" hint="It stays the same in all versions.">
        <Select value={kind} onChange={(event) => setKind(event.target.value as Artifact['kind'])}>
          {Object.entries(KINDS).filter(([one]) => one !== 'file').map(([one, shown]) => (
            <option key={one} value={one}>
              {shown}
            </option>
          ))}
        </Select>
      </Field>
      {(projects.data?.length ?? 0) > 0 && (
        <Field label="Project" hint="In a project the whole workspace sees it; without one it is yours alone.">
          <Select value={place} onChange={(event) => setPlace(event.target.value)}>
            <option value="">None</option>
            {projects.data?.map((one) => (
              <option key={one.id} value={one.id}>
                {one.name}
              </option>
            ))}
          </Select>
        </Field>
      )}
    </CreateDialog>
  );
}
