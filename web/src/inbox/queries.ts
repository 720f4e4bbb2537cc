import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { request } from '../api/http';
import type { Approval, ID, InboxItem, Message, Page } from '../api/types';

// The keys begin with what the workspace feed names when something changes.

export interface InboxFilter {
  unread?: string;
  type?: string;
  agent?: string;
}

const LIST = 50;
const WHOLE = 200;

export const inboxList = (filter: InboxFilter) =>
  infiniteQueryOptions({
    queryKey: ['inbox', 'list', filter],
    queryFn: ({ pageParam, signal }) => request<Page<InboxItem>>('/v1/inbox', { query: { limit: LIST, cursor: pageParam, ...filter }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });

export const inboxItem = (id: ID) => queryOptions({ queryKey: ['inbox', 'item', id], queryFn: ({ signal }) => request<InboxItem>(`/v1/inbox/${id}`, { signal }) });

// itemedApprovals are the approvals that the latest items ask for.
export const itemedApprovals = () =>
  queryOptions({
    queryKey: ['inbox', 'approvals'],
    queryFn: ({ signal }) => request<Page<InboxItem>>('/v1/inbox', { query: { type: 'approval', limit: WHOLE }, signal }).then((page) => page.data.flatMap((item) => item.approval_id ?? [])),
  });

export const approvalOf = (id: ID) => queryOptions({ queryKey: ['approvals', 'one', id], queryFn: ({ signal }) => request<Approval>(`/v1/approvals/${id}`, { signal }) });

export const messageOf = (id: ID) => queryOptions({ queryKey: ['message', id], queryFn: ({ signal }) => request<Message>(`/v1/messages/${id}`, { signal }) });
