import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Folder, FolderPlus } from 'lucide-react';
import { useEffect, useState } from 'react';
import { principal, projectList } from '../api/queries';
import { time } from '../components/format';
import { useReader } from '../components/role';
import { titled } from '../components/tab';
import { Button, Empty, Failed, Loading, Page } from '../components/ui';
import { DirectoryDialog } from '../projects/directory';

export function ProjectsPage() {
  const projects = useQuery(projectList());
  const navigate = useNavigate();
  const [adding, setAdding] = useState(false);
  const reader = useReader();
  useEffect(() => {
    titled('Projects – Parley');
  }, []);
  const chooses = useQuery(principal()).data?.may_choose_directories;
  const add = chooses && (
    <Button look="primary" onClick={() => setAdding(true)}>
      <FolderPlus size={15} aria-hidden /> Add a directory
    </Button>
  );
  return (
    <Page title="Projects" about="Directories on the server’s machine. An agent’s file tools see the project of their conversation, and nothing outside it." actions={add}>
      {chooses === false && !reader && (
        <p className="mb-5 rounded-xl border border-line bg-raised px-4 py-2.5 text-sm text-soft">
          No directories are set for projects on this server, so only its own user can add projects. Its operator can name them with <code className="rounded bg-sunken px-1 font-mono text-xs">--project-root</code>.
        </p>
      )}
      {projects.isPending && <Loading what="projects" />}
      {projects.isError && <Failed error={projects.error} onRetry={() => void projects.refetch()} />}
      {projects.data?.length === 0 && (
        <Empty icon={<Folder size={28} />} title="No projects yet.">
          {reader ? 'Members can add directories to let agents read and write files in them.' : chooses && 'Add a directory to let agents read and write files in it.'}
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
      <DirectoryDialog open={adding} onClose={() => setAdding(false)} onChosen={(project) => void navigate({ to: '/projects/$id', params: { id: project.id } })} />
    </Page>
  );
}
