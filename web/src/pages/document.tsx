import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type ReactNode, Suspense, useEffect, useRef, useState } from 'react';
import { projectOf } from '../api/queries';
import type { Artifact, ID } from '../api/types';
import { fullTime, size } from '../components/format';
import { useReader } from '../components/role';
import { titled } from '../components/tab';
import { Badge, Button, cx, Failed, Loading, Page } from '../components/ui';
import { DocumentMenu } from '../documents/actions';
import { Ask } from '../documents/ask';
import { Changes } from '../documents/changes';
import { Bytes, Content, SOURCES } from '../documents/content';
import { Edit } from '../documents/edit';
import { Wrote } from '../documents/wrote';
import { History } from '../documents/history';
import { contentOf, documentOf, versionOf } from '../documents/queries';
import { usePassage } from '../documents/selected';
import { authorOf, KINDS } from '../documents/words';
import type { DocumentTab } from '../router';
import { part } from '../live/arrive';
import { NoSuch } from './errors';

const Walk = part(() => import('../lineage/walk'), 'Walk');

export function DocumentPage() {
  const { id } = useParams({ from: '/documents/$id' });
  const { data: document, ...asked } = useQuery(documentOf(id));
  useEffect(() => {
    if (!asked.isError) titled(`${document?.name ?? 'Document'} – Parley`);
  }, [document?.name, asked.isError]);
  if (asked.isError) return <NoSuch what="document" list="/documents" error={asked.error} onRetry={() => void asked.refetch()} />;
  if (!document) {
    return (
      <Page title="Document">
        <Loading what="the document" />
      </Page>
    );
  }
  return <Open key={id} document={document} />;
}

// numberIn reads a version's number from the address.
function numberIn(text: string | undefined, most: number): number | undefined {
  const number = Number(text);
  return Number.isInteger(number) && number >= 1 && number <= most ? number : undefined;
}

function Open({ document }: { document: Artifact }) {
  const search = useSearch({ from: '/documents/$id' });
  const navigate = useNavigate();
  const reader = useReader();
  const mayWrite = !reader && !document.archived_at;
  const mayEdit = mayWrite && document.kind !== 'file';
  const version = numberIn(search.version, document.version) ?? document.version;
  const tab = search.tab === 'edit' && !mayEdit ? 'read' : (search.tab ?? 'read');
  const show = (next: { tab?: DocumentTab; version?: string; from?: string }) => void navigate({ to: '/documents/$id', params: { id: document.id }, search: next, replace: true });
  return (
    <Page wide title={document.name} actions={<DocumentMenu document={document} version={version} mayWrite={!reader} />}>
      <About document={document} />
      <nav aria-label="Parts of the document" className="mb-5 flex gap-1 overflow-x-auto overflow-y-hidden border-b border-line text-sm">
        <Tab document={document} name="read" open={tab} search={version === document.version ? {} : { version: String(version) }}>
          Read
        </Tab>
        {mayEdit && (
          <Tab document={document} name="edit" open={tab} search={{ tab: 'edit' }}>
            Edit
          </Tab>
        )}
        <Tab document={document} name="changes" open={tab} search={{ tab: 'changes', version: String(version) }}>
          Changes
        </Tab>
        <Tab document={document} name="history" open={tab} search={{ tab: 'history' }}>
          History
        </Tab>
        <Tab document={document} name="lineage" open={tab} search={{ tab: 'lineage', ...(version === document.version ? {} : { version: String(version) }) }}>
          Lineage
        </Tab>
      </nav>
      {tab === 'read' && <Read document={document} version={version} />}
      {tab === 'edit' && <Edit document={document} onSaved={() => show({})} />}
      {tab === 'changes' && (
        <Changes
          document={document}
          from={numberIn(search.from, document.version) ?? Math.max(1, version - 1)}
          to={version}
          onChoose={(change) => show({ tab: 'changes', version: String(change.version ?? version), from: change.from ? String(change.from) : search.from })}
        />
      )}
      {tab === 'lineage' && (
        <Suspense fallback={<Loading what="the lineage" />}>
          <Walk document={document} version={version} part={{ pointer: search.pointer, range: search.range }} />
        </Suspense>
      )}
      {tab === 'history' && <History document={document} mayWrite={mayWrite} />}
    </Page>
  );
}

function Tab({ document, name, open, search, children }: { document: Artifact; name: DocumentTab; open: DocumentTab; search: { tab?: DocumentTab; version?: string }; children: string }) {
  return (
    <Link
      to="/documents/$id"
      params={{ id: document.id }}
      search={search}
      replace
      activeOptions={{ exact: true }}
      aria-current={name === open ? 'page' : undefined}
      className={cx('-mb-px border-b-2 px-3 py-2', name === open ? 'border-accent font-medium' : 'border-transparent text-soft hover:text-text')}
    >
      {children}
    </Link>
  );
}

const LINK = 'text-accent underline underline-offset-2';

// About says what a document is and where it belongs.
function About({ document }: { document: Artifact }) {
  const project = useQuery({ ...projectOf(document.project_id ?? ''), enabled: document.project_id !== null });
  return (
    <p className="-mt-4 mb-4 flex flex-wrap items-center gap-x-2 gap-y-1 text-xs text-faint">
      <Badge>{KINDS[document.kind]}</Badge>
      {document.archived_at && <Badge tone="warn">archived</Badge>}
      {document.labels.map((label) => (
        <Badge key={label} tone="accent">
          {label}
        </Badge>
      ))}
      <span>
        version {document.version} · {size(document.size)} · changed {fullTime(document.updated_at)} · {document.visibility === 'workspace' ? 'the workspace sees it' : 'private'}
      </span>
      {document.project_id && (
        <Link to="/projects/$id" params={{ id: document.project_id }} className={LINK}>
          {project.data?.name ?? 'its project'}
        </Link>
      )}
      {document.session_id && (
        <Link to="/c/$id" params={{ id: document.session_id }} search={{ panel: 'documents', document: document.id }} className={LINK}>
          its conversation
        </Link>
      )}
    </p>
  );
}

function Read({ document, version }: { document: Artifact; version: number }) {
  const isFile = document.kind === 'file';
  const content = useQuery({ ...contentOf(document.id, version), enabled: !isFile });
  const written = useQuery(versionOf(document.id, version));
  const reader = useReader();
  const [source, setSource] = useState(false);
  const here = useRef<HTMLDivElement>(null);
  const navigate = useNavigate();
  const shown = useRef(content.data); // until a newer version is here
  shown.current = content.data ?? shown.current;
  const text = shown.current;
  const { passage, choice } = usePassage(here, content.data ?? '');
  const session: ID | null = document.session_id ?? written.data?.session_id ?? null;
  if (isFile) return written.data ? <Bytes document={document} version={written.data} /> : written.isError ? <Failed error={written.error} onRetry={() => void written.refetch()} /> : <Loading what="the file" />;
  if (content.isError) return <Failed error={content.error} onRetry={() => void content.refetch()} />;
  if (text === undefined) return <Loading what="the text" />;
  return (
    <>
      <div className="sticky -top-px z-10 mb-4 flex flex-wrap items-center gap-2 bg-bg py-2">
        <p className="mr-auto flex flex-wrap items-center gap-x-2 text-sm text-soft">
          {version !== document.version && <Older document={document} version={version} />}
          {written.data && (
            <span>
              Written by {authorOf(written.data)}, {fullTime(written.data.created_at)}
              {written.data.session_id && written.data.message_id && (
                <>
                  {' · '}
                  <Link to="/c/$id" params={{ id: written.data.session_id }} search={{ at: written.data.message_id }} className={LINK}>
                    where it was written
                  </Link>
                </>
              )}
            </span>
          )}
        </p>
        {SOURCES.has(document.kind) && (
          <Button aria-pressed={source} onClick={() => setSource(!source)}>
            Source
          </Button>
        )}
        <Wrote document={document.id} version={version} passage={passage} />
        {!reader && <Ask document={document} version={version} session={session} passage={passage} onSent={(to) => void navigate({ to: '/c/$id', params: { id: to }, search: { panel: 'documents', document: document.id } })} />}
      </div>
      <div ref={here} data-content>
        <Content document={document} content={{ text }} source={source} choice={choice} />
      </div>
    </>
  );
}

function Older({ document, version }: { document: Artifact; version: number }): ReactNode {
  return (
    <span className="flex items-center gap-2">
      <Badge tone="warn">version {version}</Badge>
      <Link to="/documents/$id" params={{ id: document.id }} className={LINK}>
        Read the newest
      </Link>
    </span>
  );
}
