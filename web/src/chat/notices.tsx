import { X } from 'lucide-react';
import type { ReactNode } from 'react';
import { IconButton } from '../components/ui';
import type { Transcript } from '../live/transcript';

// Notices reports events beside the conversation: a limit that is near, a summary in
// progress or one that failed.
export function Notices({ transcript }: { transcript: Transcript }) {
  const { warning, summary, activity } = transcript;
  const failed = summary?.state === 'failed';
  if (!summary && !(warning && activity.running)) return null;
  return (
    <div role="status" className="mx-auto mb-2 w-full max-w-3xl space-y-1 px-4 text-sm">
      {warning && activity.running && (
        <Notice tone="text-warn">
          {Math.round(warning.share * 100)} % of the limit {warning.limit.replaceAll('_', ' ')} is used. At the limit the turn stops.
        </Notice>
      )}
      {summary && !failed && <Notice tone="text-soft">{summary.state === 'running' ? 'A summary of the earlier messages is being written.' : 'The summary is ready and takes effect when this turn ends.'}</Notice>}
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
