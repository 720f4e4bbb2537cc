import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Folder, FolderPlus } from 'lucide-react';
import { useEffect, useState } from 'react';
import { request, sentence } from '../api/http';
import { projectList } from '../api/queries';
import type { Project } from '../api/types';
import { time } from '../components/format';
import { Button, Dialog, Empty, Failed, Field, Input, Loading, Page } from '../components/ui';

export function ProjectsPage() {
  const projects = useQuery(projectList());
  const [adding, setAdding] = useState(false);
  useEffect(() => {
    document.title = 'Projects – Parley';
  }, []);
  const add = (
    <Button look="primary" onClick={() => setAdding(true)}>
      <FolderPlus size={15} aria-hidden /> Add a directory
    </Button>
  );
  return (
    <Page title="Projects" about="Directories on the server’s machine. An agent’s file tools see the project of their conversation, and nothing outside it." actions={add}>
      {projects.isPending && <Loading what="projects" />}
      {projects.isError && <Failed error={projects.error} onRetry={() => void projects.refetch()} />}
      {projects.data?.length === 0 && (
        <Empty icon={<Folder size={28} />} title="No project yet.">
          Add a directory to let agents read and write files in it.
        </Empty>
      )}
      <ul className="divide-y divide-line rounded-2xl border border-line empty:border-0">
        {projects.data?.map((project) => (
          <li key={project.id}>
            <Link to="/projects/$id" params={{ id: project.id }} className="flex items-center gap-3 px-4 py-3 hover:bg-raised">
              <Folder size={17} aria-hidden className="text-faint" />
              <span className="min-w-0 flex-1">
                <span className="block font-medium">{project.name}</span>
                <span className="block truncate font-mono text-xs text-faint">{project.path}</span>
              </span>
              <span className="text-xs text-faint">used {time(project.last_access_at)}</span>
            </Link>
          </li>
        ))}
      </ul>
      <AddProject open={adding} onClose={() => setAdding(false)} />
    </Page>
  );
}

function AddProject({ open, onClose }: { open: boolean; onClose: () => void }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [path, setPath] = useState('');
  const [error, setError] = useState('');
  return (
    <Dialog open={open} onClose={onClose} title="Add a directory" about="The server decides which roots are allowed.">
      <form
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          request<Project>('/v1/projects', { body: { path } }).then(
            (project) => {
              void queries.invalidateQueries({ queryKey: ['projects'] });
              onClose();
              void navigate({ to: '/projects/$id', params: { id: project.id } });
            },
            (failure: unknown) => setError(sentence(failure)),
          );
        }}
      >
        <Field label="Path">
          <Input value={path} onChange={(event) => setPath(event.target.value)} placeholder="/home/me/work" required className="font-mono" />
        </Field>
        {error && (
          <p role="alert" className="text-sm text-bad">
            {error}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={path.trim() === ''}>
            Add
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
