import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { request, sentence } from '../api/http';
import type { Approval } from '../api/types';
import { focusComposer } from './focus';

interface Decision {
  decision: 'approve' | 'deny' | 'dismiss';
  scope?: 'session' | 'change' | 'tree';
  answer?: unknown;
}

// useDecision decides an approval, and says what became of it.
export function useDecision(approval: Approval): { busy: boolean; error: string; decide: (how: Decision) => Promise<void> } {
  const queries = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  const decide = async (how: Decision) => {
    setBusy(true);
    setError('');
    try {
      await request(`/v1/approvals/${approval.id}`, { body: how });
      void queries.invalidateQueries({ queryKey: ['approvals'] });
      if (how.decision === 'approve' && approval.missing > 1) setBusy(false); // it waits for others
      else focusNext(approval.id);
    } catch (failure) {
      setError(sentence(failure));
      setBusy(false);
    }
  };
  return { busy, error, decide };
}

// focusNext focuses the next question, or the composer, because the focused buttons
// are about to disappear.
function focusNext(answered: string): void {
  const next = [...document.querySelectorAll<HTMLElement>('[data-approval]')].find((card) => card.dataset.approval !== answered);
  const field = next?.querySelector<HTMLElement>('input, select, textarea, button');
  if (field) field.focus();
  else focusComposer();
}
