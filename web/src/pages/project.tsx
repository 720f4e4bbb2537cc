import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { FileText, MessageSquare, MessageSquarePlus, Trash2 } from 'lucide-react';
import { useEffect, useState } from 'react';
import { request, sentence } from '../api/http';
import { projectOf, sessionList } from '../api/queries';
import { Documents } from '../documents/rows';
import { compact, money, number, time } from '../components/format';
import { useReader } from '../components/role';
import { StatusDot, statusName } from '../components/status';
import { titled } from '../components/tab';
import { Button, Dialog, Empty, Failed, Loading, Page } from '../components/ui';
import { titleOf } from '../components/title';
import { Costs } from '../projects/costs';
import { PipelineRuns } from '../projects/pipelines';
import { Runs } from '../projects/runs';
import { NoSuch } from './errors';

export function ProjectPage() {
  const { id } = useParams({ from: '/projects/$id' });
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { data: project, ...asked } = useQuery(projectOf(id));
  const sessions = useInfiniteQuery({ ...sessionList({ project: id }), enabled: project !== undefined });
  const rows = sessions.data?.pages.flatMap((page) => page.data) ?? [];
  const reader = useReader();
  const [removing, setRemoving] = useState(false);
  const [error, setError] = useState('');
  useEffect(() => {
    if (!asked.isError) titled(`${project?.name ?? 'Project'} – Parley`);
  }, [project?.name, asked.isError]);
  if (asked.isError) return <NoSuch what="project" list="/projects" error={asked.error} onRetry={() => void asked.refetch()} />;
  return (
    <Page
      title={project?.name ?? 'Project'}
      about={project?.path}
      actions={
        project && !reader && (
          <>
            <Button look="quiet" onClick={() => setRemoving(true)}>
              <Trash2 size={14} aria-hidden /> Remove
            </Button>
            <Link
              to="/new"
              search={{ project: id }}
              className="inline-flex min-h-8 items-center gap-1.5 rounded-lg bg-accent px-3 text-sm font-medium text-on-accent hover:bg-accent-strong"
            >
              <MessageSquarePlus size={14} aria-hidden /> New conversation here
            </Link>
          </>
        )
      }
    >
      {error && <Failed error={new Error(error)} />}
      {sessions.isPending && <Loading what="its conversations" />}
      {sessions.isError && <Failed error={sessions.error} onRetry={() => void sessions.refetch()} />}
      {sessions.isSuccess && rows.length === 0 && <Empty icon={<MessageSquare size={28} />} title="No conversations in this project yet." />}
      <ul className="divide-y divide-line">
        {rows.map((session) => (
          <li key={session.id}>
            <Link to="/c/$id" params={{ id: session.id }} className="flex items-center gap-3 px-2 py-2.5 hover:bg-raised">
              <StatusDot status={session.status} wait={session.wait_reason} />
              <span className="min-w-0 flex-1">
                <span className="block truncate">{titleOf(session)}</span>
                <span className="block truncate text-xs text-faint">
                  {statusName(session.status, session.wait_reason)} · {number(session.statistics.messages)} messages · {compact(session.statistics.input_tokens + session.statistics.output_tokens)} tokens
                  {session.statistics.cost > 0 && ` · ${money(session.statistics.cost)}`}
                </span>
              </span>
              <span className="text-xs text-faint">{time(session.updated_at)}</span>
            </Link>
          </li>
        ))}
      </ul>
      {sessions.hasNextPage && <Button onClick={() => void sessions.fetchNextPage()}>Show older</Button>}
      {project && (
        <section aria-labelledby="documents" className="mt-10">
          <h2 id="documents" className="mb-2 font-semibold">
            Documents
          </h2>
          <Documents filter={{ project: id }} empty={<Empty icon={<FileText size={28} />} title="No documents in this project yet." />} />
        </section>
      )}
      {project && (
        <section aria-labelledby="runs" className="mt-10">
          <h2 id="runs" className="mb-2 font-semibold">
            Runs
          </h2>
          <Runs project={id} />
        </section>
      )}
      {project && <PipelineRuns project={id} />}
      {project && (
        <section aria-labelledby="costs" className="mt-10">
          <h2 id="costs" className="mb-2 font-semibold">
            Costs of the last 30 days
          </h2>
          <Costs project={id} />
        </section>
      )}
      <Dialog open={removing} onClose={() => setRemoving(false)} title="Remove this project?" about="The directory itself is not touched, and its conversations stay, without a project.">
        <div className="flex justify-end gap-2">
          <Button onClick={() => setRemoving(false)}>Keep it</Button>
          <Button
            look="danger"
            onClick={() => {
              setRemoving(false);
              request(`/v1/projects/${id}`, { method: 'DELETE' }).then(
                () => {
                  void queries.invalidateQueries({ queryKey: ['projects'] });
                  void navigate({ to: '/projects' });
                },
                (failure: unknown) => setError(sentence(failure)),
              );
            }}
          >
            Remove
          </Button>
        </div>
      </Dialog>
    </Page>
  );
}
