import { useQuery } from '@tanstack/react-query';
import { ShieldQuestion } from 'lucide-react';
import { principal, sessionOf } from '../api/queries';
import type { Approval } from '../api/types';
import { fullTime } from '../components/format';
import { useReader, useRole } from '../components/role';
import { Button, cx } from '../components/ui';
import { useDecision } from './decide';
import { ToolQuestion } from './question';

// ApprovalCard asks about one exact call, or what its tool asks.
export function ApprovalCard({ approval }: { approval: Approval }) {
  return approval.question ? <ToolQuestion key={approval.id} approval={approval} asked={approval.question} /> : <CallCard approval={approval} />;
}

function CallCard({ approval }: { approval: Approval }) {
  const reader = useReader();
  const me = useQuery(principal()).data?.id ?? '';
  const asked = approval.requester_ids.includes(me);
  const admin = useRole() === 'admin';
  const approved = approval.approved_by.some(({ id }) => id === me);
  const named = approval.approvers > 1 || approval.requester_ids.length > 0; // a rule that names approvers wants each call checked
  const changed = approval.explanation !== null;
  const owner = useQuery({ ...sessionOf(approval.session_id), enabled: !reader && !named }).data?.owner_id;
  const { busy, error, decide } = useDecision(approval);
  return (
    <div className="rounded-lg border border-line bg-warn-soft p-3" data-approval={approval.id}>
      <p className="flex items-center gap-2 font-medium text-warn">
        <ShieldQuestion size={15} aria-hidden /> May {approval.tool_name} run with exactly these arguments?
      </p>
      {changed && <p className="mt-1 text-sm">{approval.explanation} “Approve once” approves only this call.</p>}
      {approval.approvers > 1 && (
        <p className="mt-1 text-sm">
          {approval.approved_by.length} of {approval.approvers} approved{approval.approved_by.length > 0 && `: ${approval.approved_by.map(({ name }) => name).join(', ')}`}.
        </p>
      )}
      {owner && owner !== me && <p className="mt-1 text-sm text-soft">Only the owner of the conversation can accept the change.</p>}
      {asked && <p className="mt-1 text-sm text-soft">You asked for this call, so somebody else has to approve it.</p>}
      {reader && <p className="mt-1 text-sm text-soft">Somebody with write access decides.</p>}
      <div className={cx('mt-2 flex flex-wrap items-center gap-2', reader && 'hidden')}>
        <Button look="primary" disabled={busy || asked || approved} onClick={() => void decide({ decision: 'approve' })}>
          {approved ? 'You approved' : 'Approve once'}
        </Button>
        {!named && (owner === me || (admin && !changed)) && (
          <Button disabled={busy} onClick={() => void decide({ decision: 'approve', scope: changed ? 'change' : 'session' })}>
            {changed ? 'Accept for this conversation' : 'Always in this conversation'}
          </Button>
        )}
        {!named && approval.root_id !== approval.session_id && (owner === me || (admin && !changed)) && (
          <Button disabled={busy} onClick={() => void decide({ decision: 'approve', scope: 'tree' })}>
            Always in this conversation and all of its sub-conversations
          </Button>
        )}
        <Button look="danger" disabled={busy} onClick={() => void decide({ decision: 'deny' })}>
          Deny
        </Button>
        <span className="text-xs text-soft">If nobody answers, it is denied at {fullTime(approval.expires_at)}.</span>
      </div>
      {error && (
        <p role="alert" className="mt-2 text-sm text-bad">
          {error}
        </p>
      )}
    </div>
  );
}
