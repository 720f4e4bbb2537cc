import { useRouter } from '@tanstack/react-router';
import type { MouseEvent, ReactNode } from 'react';

const ADDRESS = /^\/documents\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

// documentIn is the document that a link of a text leads to, by its path or its whole address; null for other links.
export function documentIn(href: string): string | null {
  const path = href.startsWith(`${location.origin}/`) ? href.slice(location.origin.length) : href;
  return ADDRESS.exec(path)?.[1]?.toLowerCase() ?? null;
}

// DocumentLink opens a document: beside the conversation, if the text is part of one.
export function DocumentLink({ id, children }: { id: string; children: ReactNode }) {
  const router = useRouter({ warn: false }) as ReturnType<typeof useRouter> | undefined; // a text may stand alone
  const go = (event: MouseEvent) => {
    if (!router || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const session = /^\/c\/([^/]+)$/.exec(router.state.location.pathname)?.[1];
    void (session ? router.navigate({ to: '/c/$id', params: { id: session }, search: { panel: 'documents', document: id } }) : router.navigate({ to: '/documents/$id', params: { id } }));
  };
  return (
    <a href={`/documents/${id}`} onClick={go} data-document-link>
      {children}
    </a>
  );
}
