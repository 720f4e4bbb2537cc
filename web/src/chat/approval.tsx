import { useQuery, useQueryClient } from '@tanstack/react-query';
import { ShieldQuestion } from 'lucide-react';
import { useState } from 'react';
import { request, sentence } from '../api/http';
import { principal, sessionOf } from '../api/queries';
import type { Approval } from '../api/types';
import { fullTime } from '../components/format';
import { useReader, useRole } from '../components/role';
import { Button, cx } from '../components/ui';
import { focusComposer } from './focus';

// ApprovalCard asks about one exact call.
export function ApprovalCard({ approval }: { approval: Approval }) {
  const queries = useQueryClient();
  const reader = useReader();
  const me = useQuery(principal()).data?.id ?? '';
  const asked = approval.requester_ids.includes(me);
  const admin = useRole() === 'admin';
  const approved = approval.approved_by.some(({ id }) => id === me);
  const named = approval.approvers > 1 || approval.requester_ids.length > 0; // a rule that names approvers wants each call checked
  const changed = approval.explanation !== null;
  const owner = useQuery({ ...sessionOf(approval.session_id), enabled: !reader && !named }).data?.owner_id;
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  const decide = async (decision: 'approve' | 'deny', scope?: 'session' | 'change' | 'tree') => {
    setBusy(true);
    setError('');
    try {
      await request(`/v1/approvals/${approval.id}`, { body: { decision, ...(scope ? { scope } : {}) } });
      void queries.invalidateQueries({ queryKey: ['approvals'] });
      if (decision === 'approve' && approval.missing > 1) setBusy(false); // it waits for others
      else focusNext(approval.id);
    } catch (failure) {
      setError(sentence(failure));
      setBusy(false);
    }
  };
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
        <Button look="primary" disabled={busy || asked || approved} onClick={() => void decide('approve')}>
          {approved ? 'You approved' : 'Approve once'}
        </Button>
        {!named && (owner === me || (admin && !changed)) && (
          <Button disabled={busy} onClick={() => void decide('approve', changed ? 'change' : 'session')}>
            {changed ? 'Accept for this conversation' : 'Always in this conversation'}
          </Button>
        )}
        {!named && approval.root_id !== approval.session_id && (owner === me || (admin && !changed)) && (
          <Button disabled={busy} onClick={() => void decide('approve', 'tree')}>
            Always in this conversation and all of its sub-conversations
          </Button>
        )}
        <Button look="danger" disabled={busy} onClick={() => void decide('deny')}>
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

// focusNext focuses the next question, or the composer, because the focused buttons
// are about to disappear.
function focusNext(answered: string): void {
  const next = [...document.querySelectorAll<HTMLElement>('[data-approval]')].find((card) => card.dataset.approval !== answered);
  const button = next?.querySelector('button');
  if (button) button.focus();
  else focusComposer();
}
