import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { request, requestText } from '../api/http';
import type { Artifact, ArtifactDiff, ArtifactVersion, ID, Page, PipelineRun, Transform } from '../api/types';

// The keys begin with what the workspace feed names when something changes: documents for lists, document and its id for
// everything that belongs to one.

const LIST = 50;

export interface DocumentFilter {
  kind?: string;
  project?: string;
  session?: string;
  name?: string;
  archived?: string;
}

const paged = <T>(key: unknown[], path: string, query: Record<string, string | number | undefined> = {}) =>
  infiniteQueryOptions({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => request<Page<T>>(path, { query: { limit: LIST, ...query, cursor: pageParam }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });

export const documentList = (filter: DocumentFilter) => paged<Artifact>(['documents', filter], '/v1/artifacts', { ...filter });

export const documentOf = (id: ID) => queryOptions({ queryKey: ['document', id], queryFn: ({ signal }) => request<Artifact>(`/v1/artifacts/${id}`, { signal }) });

export const versionsOf = (id: ID) => paged<ArtifactVersion>(['document', id, 'versions'], `/v1/artifacts/${id}/versions`);

// Versions never change: what was read of one stays.

export const versionOf = (id: ID, number: number) =>
  queryOptions({ queryKey: ['version', id, number], queryFn: ({ signal }) => request<ArtifactVersion>(`/v1/artifacts/${id}/versions/${number}`, { signal }), staleTime: Infinity });

export const contentOf = (id: ID, version: number) =>
  queryOptions({ queryKey: ['content', id, version], queryFn: ({ signal }) => requestText(`/v1/artifacts/${id}/content`, { query: { version }, signal }), staleTime: Infinity, gcTime: 60_000 });

export const changesOf = (id: ID, from: number, to: number) =>
  queryOptions({ queryKey: ['changes', id, from, to], queryFn: ({ signal }) => request<ArtifactDiff>(`/v1/artifacts/${id}/diff`, { query: { from, to }, signal }), staleTime: Infinity, gcTime: 60_000 });

export const runList = (project?: ID) => paged<PipelineRun>(['runs', project], '/v1/pipeline-runs', { project });

export const runOf = (id: ID) => queryOptions({ queryKey: ['run', id], queryFn: ({ signal }) => request<PipelineRun>(`/v1/pipeline-runs/${id}`, { signal }) });

// What people wrote by hand is in the history of each document, not among the runs.
export const transformList = (project: ID) => paged<Transform>(['transforms', project], '/v1/transforms', { project, kind: 'generation' });
