import { GitFork } from 'lucide-react';
import type { Session, SessionStatus, WaitReason } from '../api/types';
import { cx } from './ui';

const WAITS: Record<WaitReason, string> = {
  approval: 'Waiting for approval',
  tool_result: 'Waiting for a tool’s result',
  input: 'Waiting for your answer',
  child: 'Waiting for another agent',
  budget: 'Waiting for budget',
  rate_limit: 'Waiting for a rate limit',
  outside: 'An agent elsewhere is writing',
};

export function waitName(reason: WaitReason | null): string {
  return reason ? WAITS[reason] : 'Waits';
}

const STATES: Record<SessionStatus, { name: string; dot: string }> = {
  pending: { name: 'Not started', dot: 'border border-line-strong' },
  running: { name: 'Running', dot: 'bg-accent pulse-dot' },
  waiting: { name: 'Waiting', dot: 'bg-warn' },
  completed: { name: 'Done', dot: 'bg-line-strong' },
  failed: { name: 'Failed', dot: 'bg-bad' },
  cancelled: { name: 'Stopped', dot: 'border border-faint' },
};

export function statusName(status: SessionStatus, wait: WaitReason | null): string {
  return status === 'waiting' ? waitName(wait) : STATES[status].name;
}

export function StatusDot({ status, wait }: { status: SessionStatus; wait: WaitReason | null }) {
  return (
    <span role="img" aria-label={statusName(status, wait)} title={statusName(status, wait)} data-state-dot={status} className={cx('inline-block size-2 shrink-0 rounded-full', STATES[status].dot)} />
  );
}

// ForkMark distinguishes a fork from its original.
export function ForkMark({ session }: { session: Pick<Session, 'forked_through'> }) {
  if (session.forked_through === null) return null;
  return (
    <span role="img" aria-label="Fork" title="Fork" className="shrink-0 text-faint">
      <GitFork size={13} aria-hidden />
    </span>
  );
}
