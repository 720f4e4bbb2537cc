import { X } from 'lucide-react';
import type { ReactNode } from 'react';
import { IconButton } from '../components/ui';
import type { Transcript } from '../live/transcript';

// Notices says what goes on beside the conversation: a limit that is near, a summary
// that is being written, or was not.
export function Notices({ transcript }: { transcript: Transcript }) {
  const { warning, summary, activity } = transcript;
  const failed = summary?.state === 'failed';
  if (!summary && !(warning && activity.running)) return null;
  return (
    <div role="status" className="mx-auto mb-2 w-full max-w-3xl space-y-1 px-4 text-sm">
      {warning && activity.running && (
        <Notice tone="text-warn">
          {Math.round(warning.share * 100)} % of the limit {warning.limit.replaceAll('_', ' ')} is spent. At the limit it stops.
        </Notice>
      )}
      {summary && !failed && <Notice tone="text-soft">{summary.state === 'running' ? 'A summary of what came before is being written.' : 'The summary is written; it enters when this turn ends.'}</Notice>}
      {failed && (
        <Notice tone="text-bad">
          No summary was written. {summary.sentence}
          <IconButton name="Dismiss" onClick={() => transcript.dismiss()}>
            <X size={14} />
          </IconButton>
        </Notice>
      )}
    </div>
  );
}

function Notice({ tone, children }: { tone: string; children: ReactNode }) {
  return <p className={`flex items-center gap-2 ${tone}`}>{children}</p>;
}
