import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Braces, Code, File, FileText, Globe, Image, Table, Type } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Artifact, ID } from '../api/types';
import { size, time } from '../components/format';
import { Badge, Button, Failed, Loading } from '../components/ui';
import { type DocumentFilter, documentList } from './queries';
import { KINDS } from './words';

const ICONS: Record<Artifact['kind'], typeof FileText> = { markdown: FileText, text: Type, json: Braces, code: Code, csv: Table, html: Globe, svg: Image, file: File };

// Documents lists documents, last changed first; empty is shown if there are none. With a conversation, they open beside
// it.
export function Documents({ filter, empty, beside }: { filter: DocumentFilter; empty: ReactNode; beside?: ID }) {
  const list = useInfiniteQuery(documentList(filter));
  const rows = list.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <>
      {list.isPending && <Loading what="documents" />}
      {list.isError && <Failed error={list.error} onRetry={() => void list.refetch()} />}
      {list.isSuccess && rows.length === 0 && empty}
      <ul className="divide-y divide-line">
        {rows.map((document) => (
          <Row key={document.id} document={document} beside={beside} />
        ))}
      </ul>
      {list.hasNextPage && (
        <Button className="mt-3" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show older ones
        </Button>
      )}
    </>
  );
}

function Row({ document, beside }: { document: Artifact; beside?: ID }) {
  const Icon = ICONS[document.kind];
  const where = beside ? ({ to: '/c/$id', params: { id: beside }, search: { panel: 'documents', document: document.id } } as const) : ({ to: '/documents/$id', params: { id: document.id } } as const);
  return (
    <li data-document={document.id}>
      <Link {...where} className="flex items-center gap-3 rounded-lg px-2 py-2.5 hover:bg-raised">
        <Icon size={17} aria-hidden className="shrink-0 text-faint" />
        <span className="min-w-0 flex-1">
          <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
            <span className="min-w-0 truncate">{document.name}</span>
            {document.archived_at && <Badge>archived</Badge>}
            {document.labels.map((label) => (
              <Badge key={label} tone="accent">
                {label}
              </Badge>
            ))}
          </span>
          <span className="block truncate text-xs text-faint">
            {KINDS[document.kind]} · version {document.version} · {size(document.size)}
          </span>
        </span>
        <span className="shrink-0 text-xs text-faint">{time(document.updated_at)}</span>
      </Link>
    </li>
  );
}
