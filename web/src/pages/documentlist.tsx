import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { FilePlus, FileText } from 'lucide-react';
import { useEffect, useState } from 'react';
import { projectList } from '../api/queries';
import { useReader } from '../components/role';
import { titled } from '../components/tab';
import { Button, Empty, Input, Page } from '../components/ui';
import { NewDocument } from '../documents/new';
import { Documents } from '../documents/rows';
import { KINDS } from '../documents/words';
import { PipelineRuns } from '../projects/pipelines';
import { Choice } from './filters';

const TYPING_MS = 250; // after typing, before the list is narrowed

export function DocumentsPage() {
  const filter = useSearch({ from: '/documents' });
  const navigate = useNavigate();
  const projects = useQuery(projectList());
  const reader = useReader();
  const [adding, setAdding] = useState(false);
  const [name, setName] = useState(filter.name ?? '');
  const choose = (change: typeof filter) => void navigate({ to: '/documents', search: { ...filter, ...change }, replace: true });
  useEffect(() => titled('Documents – Parley'), []);
  useEffect(() => {
    if (name === (filter.name ?? '')) return;
    const timer = setTimeout(() => choose({ name: name || undefined }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [name]); // oxlint-disable-line exhaustive-deps -- when something was typed
  const all = Object.values(filter).every((value) => !value);
  return (
    <Page
      title="Documents"
      about="What conversations produce, and what you write yourself: every version is kept, with who wrote it and where."
      actions={
        !reader && (
          <Button look="primary" onClick={() => setAdding(true)}>
            <FilePlus size={15} aria-hidden /> New document
          </Button>
        )
      }
    >
      <div role="group" aria-label="Filters" className="mb-4 grid grid-cols-2 items-center gap-2 sm:flex sm:flex-wrap">
        <Input aria-label="Name" type="search" placeholder="Part of the name" value={name} onChange={(event) => setName(event.target.value)} className="col-span-2 sm:w-56" />
        <Choice label="Kind" value={filter.kind ?? ''} all="All kinds" options={Object.entries(KINDS)} onChange={(kind) => choose({ kind: kind || undefined })} />
        {(filter.project || (projects.data?.length ?? 0) > 0) && (
          <Choice label="Project" value={filter.project ?? ''} all="All projects" options={(projects.data ?? []).map((one) => [one.id, one.name])} onChange={(project) => choose({ project: project || undefined })} />
        )}
        <Choice
          label="State"
          value={filter.archived ?? ''}
          all="Active"
          options={[
            ['true', 'Archived'],
            ['any', 'Any state'],
          ]}
          onChange={(archived) => choose({ archived: archived || undefined })}
        />
      </div>
      <Documents
        filter={filter}
        empty={
          all ? (
            <Empty icon={<FileText size={28} />} title="No documents yet.">
              Agents with the tools for documents write them; you can write one yourself, too.
            </Empty>
          ) : (
            <Empty icon={<FileText size={28} />} title="No document matches." />
          )
        }
      />
      {all && <PipelineRuns />}
      <NewDocument open={adding} project={filter.project} onClose={() => setAdding(false)} onCreated={(document) => void navigate({ to: '/documents/$id', params: { id: document.id }, search: { tab: 'edit' } })} />
    </Page>
  );
}
