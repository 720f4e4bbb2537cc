import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { request } from './http';
import type { SearchResult } from './types';

// SearchChoice is the state of a search in its address; days follow the person's calendar.
export interface SearchChoice {
  q?: string;
  in?: string; // the only conversation to search
  role?: string;
  agent?: string;
  project?: string;
  tool?: string;
  from?: string; // yyyy-mm-dd
  to?: string; // the last day
  archived?: string;
}

const HITS = 20;
const AGAIN_MS = 2_000; // a new message can be found a moment later

// again says when to search again: while nothing is found, or the index is being built.
const again = (pages: SearchResult[]) => (pages.some((page) => !page.complete || (pages.length === 1 && page.data.length === 0)) ? AGAIN_MS : false);

export const searchFor = (choice: SearchChoice) =>
  infiniteQueryOptions({
    queryKey: ['search', choice],
    queryFn: ({ pageParam, signal }) =>
      request<SearchResult>('/v1/search', {
        query: {
          q: choice.q,
          session: choice.in,
          role: choice.role,
          agent: choice.agent,
          project: choice.project,
          tool: choice.tool,
          created_from: dayBegins(choice.from, 0),
          created_to: dayBegins(choice.to, 1),
          archived: choice.archived,
          limit: HITS,
          cursor: pageParam,
        },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    enabled: !!choice.q?.trim(),
    placeholderData: keepPreviousData,
    staleTime: 0,
    refetchInterval: (query) => again(query.state.data?.pages ?? []),
  });

const QUICK_HITS = 6;

// quickSearch finds the best few hits.
export const quickSearch = (q: string) =>
  queryOptions({
    queryKey: ['quick search', q],
    queryFn: ({ signal }) => request<SearchResult>('/v1/search', { query: { q, limit: QUICK_HITS }, signal }),
    placeholderData: keepPreviousData,
    staleTime: 0,
    refetchInterval: (query) => again(query.state.data ? [query.state.data] : []),
    retry: false, // the search page says what is wrong
  });

// dayBegins is the beginning of a day here, or of the next day; undefined for an invalid day.
function dayBegins(day: string | undefined, more: number): string | undefined {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day ?? '') ?? [];
  return year ? new Date(Number(year), Number(month) - 1, Number(date) + more).toISOString() : undefined;
}
