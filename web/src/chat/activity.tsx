import { useEffect, useState } from 'react';
import { Link } from '@tanstack/react-router';
import { duration } from '../components/format';
import { waitName } from '../components/status';
import type { Transcript } from '../live/transcript';

const TICK_MS = 1_000;

// ActivityLine says what the session is doing, so that it is never silent.
export function ActivityLine({ transcript }: { transcript: Transcript }) {
  const { activity } = transcript;
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!activity.running) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [activity]);
  if (!activity.running) return null;
  return (
    <div role="status" aria-live="polite" className="flex min-h-8 items-center gap-2 py-1 text-sm text-soft" data-activity>
      <span aria-hidden className="pulse-dot size-2 rounded-full bg-accent" />
      <span>{says(transcript, now)}</span>
      {activity.wait === 'approval' && (
        <Link to="/inbox" className="text-accent underline underline-offset-2">
          All approvals
        </Link>
      )}
    </div>
  );
}

function says(transcript: Transcript, now: number): string {
  const { activity } = transcript;
  if (activity.retry && activity.retry.until > now) {
    return `${activity.retry.class.replace('_', ' ')}: attempt ${activity.retry.attempt} in ${duration(activity.retry.until - now)}`;
  }
  if (activity.wait) return activity.sentence || waitName(activity.wait);
  const running = [...transcript.messages.values()].filter(
    ({ message }) => message.role === 'tool_call' && transcript.runs.has(message.tool_call_id ?? '') && !answered(transcript, message.tool_call_id),
  );
  const call = running[0];
  if (call) {
    const run = transcript.runs.get(call.message.tool_call_id!)!;
    const progress = run.progress?.message ? ` · ${run.progress.message}` : '';
    return `${call.message.tool_name} ${run.startedAt ? duration(Math.max(0, now - run.startedAt)) : ''}${progress}${running.length > 1 ? ` and ${running.length - 1} more` : ''}`;
  }
  const last = transcript.order[transcript.order.length - 1];
  const waited = now - activity.since;
  if (last?.streaming && last.text('text')) return 'Writing';
  if (last?.streaming && last.text('reasoning')) return `Thinking, ${duration(waited)}`;
  return waited > 2_000 ? `Waiting for the model, ${duration(waited)}` : 'Waiting for the model';
}

function answered(transcript: Transcript, callID: string | null): boolean {
  return transcript.order.some(({ message }) => message.role === 'tool_result' && message.tool_call_id === callID);
}
