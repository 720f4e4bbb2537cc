import { Link } from '@tanstack/react-router';
import { Suspense, useEffect, useState } from 'react';
import { request, sentence } from '../api/http';
import { duration } from '../components/format';
import { useReader } from '../components/role';
import { waitName } from '../components/status';
import { Button } from '../components/ui';
import { part } from '../live/arrive';
import type { Transcript } from '../live/transcript';
import { ContextEdge } from './message';

const ErrorCard = part(() => import('./failure'), 'ErrorCard');

const TICK_MS = 1_000;
const SHORT_MS = 2_000; // shorter waits show no time

// ActivityLine says what the session is doing, so that it is never silent, and how a
// turn failed that wrote nothing. Screen readers hear Announcer instead.
export function ActivityLine({ transcript }: { transcript: Transcript }) {
  const { activity } = transcript;
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!activity.running) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [activity]);
  if (!activity.running) {
    const told = transcript.order.at(-1)?.message.error; // the card below that message shows it
    if (!activity.ended) return cleared(transcript) ? <ContextEdge /> : null;
    if (!activity.failure) return <Stopped key={activity.ended} turn={activity.ended} />;
    if (told) return null;
    return (
      <Suspense fallback={null}>
        <ErrorCard failure={activity.failure} turn={activity.ended} session={transcript.id} />
      </Suspense>
    );
  }
  return (
    <div className="flex min-h-8 flex-wrap items-center gap-x-2 gap-y-1 py-1 text-sm text-soft" data-activity>
      <span aria-hidden className="pulse-dot size-2 rounded-full bg-accent" />
      <span className="[overflow-wrap:anywhere]">{says(transcript, now)}</span>
      {activity.wait === 'approval' && (
        <Link to="/inbox" className="text-accent underline underline-offset-2">
          All approvals
        </Link>
      )}
      {(activity.wait === 'budget' || activity.wait === 'rate_limit') && activity.turn && <Act path={`/v1/turns/${activity.turn}/continue`} label="Check again" />}
    </div>
  );
}

// cleared reports whether the context was cleared and nothing has been said since.
function cleared({ session }: Transcript): boolean {
  return session !== null && session.context.cleared_at !== null && session.context.messages === 0;
}

// Stopped offers to retry a turn that somebody stopped.
function Stopped({ turn }: { turn: string }) {
  return (
    <p className="flex min-h-8 flex-wrap items-center gap-2 text-sm text-soft" data-stopped>
      Stopped. <Act path={`/v1/turns/${turn}/retry`} label="Try again" />
    </p>
  );
}

// Act is a button for one request; it shows the error if the server refuses.
function Act({ path, label }: { path: string; label: string }) {
  const reader = useReader();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  if (reader) return null;
  return (
    <>
      <Button
        disabled={busy}
        onClick={() => {
          setBusy(true);
          setError('');
          request(path, { body: {} })
            .catch((failure: unknown) => setError(sentence(failure)))
            .finally(() => setBusy(false));
        }}
      >
        {label}
      </Button>
      {error && (
        <span role="alert" className="text-bad">
          {error}
        </span>
      )}
    </>
  );
}

// Announcer tells screen readers about changes, but not about seconds and tokens.
export function Announcer({ transcript }: { transcript: Transcript }) {
  const { activity, session } = transcript;
  const last = transcript.order.at(-1)?.message;
  const ended = last?.role === 'assistant' && last.status === 'completed' ? 'The answer is complete.' : '';
  return (
    <p role="status" className="sr-only" data-announcer>
      {!session ? '' : activity.running ? state(transcript) : activity.failure ? `It failed: ${activity.failure.sentence}` : activity.ended ? 'Stopped.' : ended}
    </p>
  );
}

// waits says what a turn waits for: a tool's question is an approval, but nobody is asked to approve anything.
function waits({ activity, approvals }: Transcript): string {
  const asked = activity.wait === 'approval' && [...approvals.values()].some(({ state, question }) => state === 'pending' && question);
  return activity.sentence || waitName(asked ? 'input' : activity.wait);
}

// state says what is being done, in words that do not change meanwhile.
function state(transcript: Transcript): string {
  const { activity } = transcript;
  if (activity.retry) return `${why(activity.retry.class)}. Trying again.`;
  if (activity.wait) return waits(transcript);
  if (activity.queued) return 'Waiting to begin';
  const running = runningCalls(transcript);
  if (running[0]) return `Running ${running[0].message.tool_name}`;
  const last = transcript.order.at(-1);
  if (last?.streaming && last.text('text')) return 'Writing';
  return last?.streaming && last.text('reasoning') ? 'Thinking' : 'Waiting for the model';
}

function says(transcript: Transcript, now: number): string {
  const { activity } = transcript;
  if (activity.retry && activity.retry.until > now) {
    return `${why(activity.retry.class)}: retry ${activity.retry.attempt} in ${duration(Math.ceil((activity.retry.until - now) / TICK_MS) * TICK_MS)}`;
  }
  if (activity.wait) return waits(transcript);
  const waited = now - activity.since;
  const [call, ...more] = runningCalls(transcript);
  if (call) {
    const run = transcript.runs.get(call.message.tool_call_id!)!;
    const took = run.startedAt ? ` ${duration(Math.max(0, now - run.startedAt))}` : '';
    const steps = run.progress?.total ? ` · ${run.progress.progress} of ${run.progress.total}` : '';
    const progress = run.progress?.message ? ` · ${run.progress.message}` : '';
    return `${call.message.tool_name}${took}${steps}${progress}${more.length > 0 ? ` and ${more.length} more` : ''}`;
  }
  const doing = state(transcript);
  return waited > SHORT_MS && doing !== 'Writing' ? `${doing}, ${duration(waited)}` : doing;
}

const WHY: Record<string, string> = {
  rate_limit: 'The provider limits requests',
  network: 'The provider could not be reached',
  stream: 'The answer broke off',
  model: 'The provider failed',
};

const why = (failure: string) => WHY[failure] ?? failure.replaceAll('_', ' ');

function runningCalls(transcript: Transcript) {
  const answered = new Set(transcript.order.flatMap(({ message }) => (message.role === 'tool_result' && message.tool_call_id ? [message.tool_call_id] : [])));
  return transcript.order.filter(({ message }) => message.role === 'tool_call' && transcript.runs.has(message.tool_call_id ?? '') && !answered.has(message.tool_call_id!));
}
