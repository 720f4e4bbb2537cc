import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ID, PipelineRun } from '../api/types';
import { money, time } from '../components/format';
import { Badge, Button, Failed } from '../components/ui';
import { runList } from '../documents/queries';

export const RUN_TONES = { pending: 'plain', running: 'accent', completed: 'good', failed: 'bad', cancelled: 'warn' } as const;

// nodesDone says how far a run is.
export function nodesDone(run: PipelineRun): string {
  return `${run.nodes.filter((one) => one.status === 'completed').length} of ${run.nodes.length} nodes have completed`;
}

// PipelineRuns lists the runs of pipelines, of a project or all, last begun first. Without any it is nothing.
export function PipelineRuns({ project }: { project?: ID }) {
  const list = useInfiniteQuery(runList(project));
  const rows = list.data?.pages.flatMap((page) => page.data) ?? [];
  if (!list.isError && rows.length === 0) return null;
  return (
    <section aria-labelledby="pipelines" className="mt-10">
      <h2 id="pipelines" className="mb-2 font-semibold">
        Pipelines
      </h2>
      {list.isError && <Failed error={list.error} onRetry={() => void list.refetch()} />}
      <ul className="divide-y divide-line">
        {rows.map((run) => (
          <li key={run.id} data-pipeline={run.id}>
            <Link to="/runs/$id" params={{ id: run.id }} className="flex flex-wrap items-center gap-x-3 gap-y-1 rounded-lg px-2 py-2.5 text-sm hover:bg-raised">
              <span className="min-w-0 flex-1 basis-56">
                <span className="block truncate">{run.name}</span>
                <span className="block text-xs text-faint">
                  {nodesDone(run)}
                  {run.cost > 0 && ` · ${money(run.cost)}`}
                </span>
              </span>
              <Badge tone={RUN_TONES[run.status]}>{run.status}</Badge>
              <span className="text-xs text-faint">{time(run.created_at)}</span>
            </Link>
          </li>
        ))}
      </ul>
      {list.hasNextPage && (
        <Button className="mt-3" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show older runs
        </Button>
      )}
    </section>
  );
}
