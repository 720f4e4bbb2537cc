import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { FileText, RotateCcw, Square } from 'lucide-react';
import { useEffect, useState } from 'react';
import { request } from '../api/http';
import type { ID, PipelineNodeRun, PipelineRun } from '../api/types';
import { money } from '../components/format';
import { useReader } from '../components/role';
import { titled } from '../components/tab';
import { Badge, Button, Failed, Loading, Page } from '../components/ui';
import { runOf } from '../documents/queries';
import { feed } from '../live/feed';
import { nodesDone, RUN_TONES } from '../projects/pipelines';
import { NoSuch } from './errors';

const GATHER_MS = 100; // events that arrive together cause one fetch
const LINK = 'text-accent underline underline-offset-2';

export function RunPage() {
  const { id } = useParams({ from: '/runs/$id' });
  const run = useQuery(runOf(id));
  useFollowed(id);
  useEffect(() => {
    if (!run.isError) titled(`${run.data?.name ?? 'Run'} – Parley`);
  }, [run.data?.name, run.isError]);
  if (run.isPending) {
    return (
      <Page title="Run of a pipeline">
        <Loading what="the run" />
      </Page>
    );
  }
  if (run.isError) return <NoSuch what="run" list="/documents" error={run.error} onRetry={() => void run.refetch()} />;
  return <Shown run={run.data} />;
}

// useFollowed reads a run again whenever something happens in it: its session's events tell.
function useFollowed(id: ID) {
  const queries = useQueryClient();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const unwatch = feed.watch(id, 0, () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void queries.invalidateQueries({ queryKey: ['run', id] });
      }, GATHER_MS);
    });
    return () => {
      unwatch();
      clearTimeout(timer);
    };
  }, [id, queries]);
}

function Shown({ run }: { run: PipelineRun }) {
  const queries = useQueryClient();
  const reader = useReader();
  const [failure, setFailure] = useState<unknown>(null);
  const unfinished = run.status === 'pending' || run.status === 'running';
  const ask = (verb: 'cancel' | 'retry') => {
    setFailure(null);
    request<PipelineRun>(`/v1/pipeline-runs/${run.id}/${verb}`, { method: 'POST' }).then(
      (now) => queries.setQueryData(['run', run.id], now),
      (failed: unknown) => setFailure(failed),
    );
  };
  return (
    <Page
      title={run.name}
      about={`A pipeline: each node begins when what it reads exists. ${nodesDone(run)}${run.cost > 0 ? `, for ${money(run.cost)}` : ''}.`}
      actions={
        !reader &&
        (unfinished ? (
          <Button disabled={run.cancelled_at !== null} onClick={() => ask('cancel')}>
            <Square size={14} aria-hidden /> {run.cancelled_at ? 'Cancelling' : 'Cancel'}
          </Button>
        ) : (
          run.status !== 'completed' && (
            <Button look="primary" onClick={() => ask('retry')}>
              <RotateCcw size={14} aria-hidden /> Retry what failed
            </Button>
          )
        ))
      }
    >
      {failure !== null && (
        <div className="mb-4">
          <Failed error={failure} />
        </div>
      )}
      <p role="status" className="mb-4">
        <Badge tone={RUN_TONES[run.status]}>{run.status}</Badge>
      </p>
      <ol className="space-y-3">
        {run.nodes.map((one) => (
          <Node key={one.node.name} of={one} />
        ))}
      </ol>
    </Page>
  );
}

function Node({ of }: { of: PipelineNodeRun }) {
  const { node, instances } = of;
  const each = node.inputs.some((one) => one.each);
  const reads = node.inputs.map((one) => `${one.each ? 'each of ' : ''}${one.node ?? one.document}${one.pointer}`).join(', ');
  return (
    <li data-node={node.name} className="rounded-xl border border-line px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <h2 className="font-medium">{node.name}</h2>
        <Badge tone={RUN_TONES[of.status]}>{of.status}</Badge>
        {reads !== '' && <span className="text-xs text-faint">reads {reads}</span>}
      </div>
      <p className="mt-1 line-clamp-3 text-sm text-soft">{node.instructions}</p>
      {of.failure && <p className="mt-1 text-sm text-bad">{of.failure}</p>}
      <ul className="mt-2 space-y-1.5 text-sm">
        {instances.map((one, at) => (
          <li key={at} className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <FileText size={15} aria-hidden className="shrink-0 text-faint" />
            {one.outputs.length === 0 && <span className="text-soft">{titleOf(of, 0, each ? at : null)}</span>}
            {one.outputs.map((made, output) => (
              <Link key={made.artifact_id} to="/documents/$id" params={{ id: made.artifact_id! }} search={{ version: String(made.version) }} className={LINK}>
                {titleOf(of, output, each ? at : null)}
              </Link>
            ))}
            {one.status !== 'completed' && <Badge tone={RUN_TONES[one.status]}>{one.status}</Badge>}
            {one.transform_id && (
              <Link to="/c/$id" params={{ id: one.transform_id }} className="text-xs text-faint underline underline-offset-2">
                {one.status === 'running' ? 'Watch it' : 'How it was written'}
              </Link>
            )}
            {one.failure && <span className="text-bad">{one.failure}</span>}
          </li>
        ))}
      </ul>
    </li>
  );
}

// titleOf names a document that a node creates; those of a node that runs for each element are numbered.
function titleOf({ node }: PipelineNodeRun, output: number, instance: number | null): string {
  const title = node.outputs[output]?.title || node.name;
  return instance === null ? title : `${title} ${instance + 1}`;
}
