import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { request } from '../api/http';
import type { Delegation, ID, KnowledgeItem, Page, Schedule, ScheduleRun, Team, TeamLead } from '../api/types';
import { untilDue } from './words';

// The keys begin with what the workspace feed names when something changes. It does not tell of a run that was skipped:
// what names a schedule's next run is fetched again when that is due.

const TEAMS = 12; // each is read with its members
const LIST = 30;
const WHOLE = 200;
const RUNS = 10;

const paged = <T>(key: unknown[], path: string, query: Record<string, number | string | string[]>) =>
  infiniteQueryOptions({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => request<Page<T>>(path, { query: { ...query, cursor: pageParam }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });

export const teamLeads = () => paged<TeamLead>(['teams'], '/v1/teams', { limit: TEAMS });

export const teamOf = (lead: string) =>
  queryOptions({
    queryKey: ['team', lead],
    queryFn: ({ signal }) => request<Team>(`/v1/teams/${lead}`, { signal }),
    refetchInterval: ({ state: { data } }) => untilDue(data?.members.map((one) => one.next_run_at)),
    refetchIntervalInBackground: true,
  });

// delegationsOf are what agents sent or received, newest first.
export const delegationsOf = (agents: ID[]) => paged<Delegation>(['delegations', agents], '/v1/delegations', { agent: agents, limit: LIST });

export const schedulesOf = (agents: ID[]) =>
  infiniteQueryOptions({
    ...paged<Schedule>(['schedules', agents], '/v1/schedules', { agent: agents, limit: WHOLE }),
    refetchInterval: ({ state: { data } }) => untilDue(data?.pages.flatMap((page) => page.data.map((one) => one.next_at))),
    refetchIntervalInBackground: true,
  });

// runsOf are the latest runs of a schedule. They are others once its last one is.
export const runsOf = ({ id, last_run }: Pick<Schedule, 'id' | 'last_run'>) =>
  queryOptions({
    queryKey: ['schedules', 'runs', id, last_run?.due_at],
    queryFn: ({ signal }) => request<Page<ScheduleRun>>(`/v1/schedules/${id}/runs`, { query: { limit: RUNS }, signal }).then((page) => page.data),
  });

// knowledgeOf is what a team or an agent knows, newest first.
export const knowledgeOf = (who: { team: string } | { agent: string }) => paged<KnowledgeItem>(['knowledge', who], '/v1/knowledge', { ...who, limit: LIST });

// timesOf are the next times of a timing that need not be stored.
export const timesOf = (timing: Record<string, string>) =>
  queryOptions({
    queryKey: ['times', timing],
    queryFn: ({ signal }) => request<{ times: string[] }>('/v1/schedules/preview', { body: timing, signal }).then((preview) => preview.times),
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
