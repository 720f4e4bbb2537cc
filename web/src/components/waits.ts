import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { approvalList, questionList, unreadList } from '../api/queries';
import type { InboxItem } from '../api/types';
import { waiting } from './tab';

// countWaits counts what waits for the person: calls to approve, questions of conversations, and items to read. An
// item that asks for an approval is counted as that.
export function countWaits(approvals: number, questions: number, unread: Pick<InboxItem, 'type' | 'answered_at' | 'closed_at'>[]): number {
  return approvals + questions + unread.filter((item) => item.type !== 'approval' || item.answered_at || item.closed_at).length;
}

// useWaits is what waits for the person; the tab's title has the number too.
export function useWaits(): number {
  const { data: approvals } = useQuery(approvalList('pending'));
  const { data: questions } = useQuery(questionList());
  const { data: unread } = useQuery(unreadList());
  const count = countWaits(approvals?.length ?? 0, questions?.length ?? 0, unread ?? []);
  useEffect(() => waiting(count), [count]);
  return count;
}
