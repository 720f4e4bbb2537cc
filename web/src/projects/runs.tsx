import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { transformList } from '../documents/queries';
import type { Transform } from '../api/types';
import { time } from '../components/format';
import { Badge, Button, Failed, Loading } from '../components/ui';

const TONES = { pending: 'plain', streaming: 'accent', completed: 'good', failed: 'bad', cancelled: 'warn' } as const;

// Runs lists the generations of a project, last begun first, with the documents that each wrote.
export function Runs({ project }: { project: string }) {
  const list = useInfiniteQuery(transformList(project));
  const rows = list.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <>
      {list.isPending && <Loading what="runs" />}
      {list.isError && <Failed error={list.error} onRetry={() => void list.refetch()} />}
      {list.isSuccess && rows.length === 0 && <p className="text-sm text-soft">No transforms in this project yet.</p>}
      <ul className="divide-y divide-line">
        {rows.map((run) => (
          <Run key={run.id} run={run} />
        ))}
      </ul>
      {list.hasNextPage && (
        <Button className="mt-3" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show older ones
        </Button>
      )}
    </>
  );
}

const LINK = 'text-accent underline underline-offset-2';

function Run({ run }: { run: Transform }) {
  const written = run.outputs.filter((one) => one.artifact_id && one.version && !one.purged);
  return (
    <li data-run={run.id} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-2 py-2.5 text-sm">
      <span className="min-w-0 flex-1 basis-56">
        {run.session_id ? (
          <Link to="/c/$id/inspect" params={{ id: run.session_id }} className={LINK}>
            {run.name || 'Transform'}
          </Link>
        ) : (
          run.name
        )}
        <span className="block text-xs text-faint">
          {run.inputs.length} {run.inputs.length === 1 ? 'input' : 'inputs'}
          {run.failure && ` · ${run.failure.sentence}`}
        </span>
      </span>
      {written.map((one) => (
        <Link key={one.position} to="/documents/$id" params={{ id: one.artifact_id! }} search={{ version: String(one.version) }} className={LINK}>
          {one.title || one.name || 'Document'}, version {one.version}
          {one.conflict && ' (conflict)'}
        </Link>
      ))}
      <Badge tone={TONES[run.status]}>{run.status}</Badge>
      <span className="text-xs text-faint">{time(run.created_at)}</span>
    </li>
  );
}
