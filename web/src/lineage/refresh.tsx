import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { RefreshCw } from 'lucide-react';
import { useState } from 'react';
import { request } from '../api/http';
import type { ID, PipelineRun, Refresh as Plan } from '../api/types';
import { compact, money } from '../components/format';
import { Button, Dialog, Failed, Loading } from '../components/ui';

// costOf says what requests cost, as far as the models' prices are known.
function costOf({ input, output_most }: Pick<Plan, 'input' | 'output_most'>): string {
  return input === null || output_most === null ? 'price unknown' : `at most ${money(input + output_most)}`;
}

// Refresh runs again what is stale behind a document, after it has said what that is and what it costs.
export function Refresh({ document }: { document: ID }) {
  const navigate = useNavigate();
  const [open, setOpen] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const plan = useQuery({
    queryKey: ['document', document, 'refresh'],
    queryFn: ({ signal }) => request<Plan>(`/v1/artifacts/${document}/refresh`, { signal }),
    enabled: open,
  });
  const run = () =>
    request<PipelineRun>(`/v1/artifacts/${document}/refresh`, { body: {}, key: crypto.randomUUID() }).then(
      (begun) => navigate({ to: '/runs/$id', params: { id: begun.id } }),
      (failed: unknown) => setFailure(failed),
    );
  const steps = plan.data?.nodes ?? [];
  return (
    <>
      <Button onClick={() => setOpen(true)}>
        <RefreshCw size={14} aria-hidden /> Refresh…
      </Button>
      <Dialog open={open} onClose={() => setOpen(false)} title="Run again what is stale?" about="Each step reads what its inputs are now, and writes new versions of the same documents. Earlier versions stay.">
        {plan.isPending && <Loading what="what is stale" />}
        {plan.isError && <Failed error={plan.error} onRetry={() => void plan.refetch()} />}
        {plan.isSuccess && steps.length === 0 && <p className="text-sm">Nothing is stale.</p>}
        <ol className="list-decimal space-y-1 pl-5 text-sm">
          {steps.map((one) => (
            <li key={one.transform_id}>
              {one.name}
              <span className="block text-xs text-faint">
                {one.model} · {compact(one.input_tokens)} tokens · {costOf(one.cost)}
              </span>
            </li>
          ))}
        </ol>
        {plan.data && steps.length > 0 && <p className="mt-3 text-sm">Altogether {costOf(plan.data)}, if inputs stay as long as they are.</p>}
        {plan.data?.truncated && <p className="mt-1 text-sm">More is stale than one run may hold: refresh again after it.</p>}
        {failure !== null && <Failed error={failure} />}
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={() => setOpen(false)}>Leave it</Button>
          <Button look="primary" disabled={steps.length === 0} onClick={() => void run()}>
            Run again
          </Button>
        </div>
      </Dialog>
    </>
  );
}
