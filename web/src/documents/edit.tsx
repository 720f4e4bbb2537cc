import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useMemo, useState } from 'react';
import { Problem, request, sentence } from '../api/http';
import type { Artifact, ArtifactVersion } from '../api/types';
import { keepDraft, readDraft } from '../chat/draft';
import { Button, Failed, Loading } from '../components/ui';
import { arriving } from '../live/arrive';
import { shownJSON, versionBody } from './json';
import { contentOf } from './queries';

// The editor is as large as half of the page: it is fetched when somebody edits, not ahead.
const Editor = lazy(() => arriving(() => import('./editor')).then(({ Editor }) => ({ default: Editor })));

// Draft is a text that is not saved yet, with the version that it began with.
interface Draft {
  base: number;
  text: string;
}

const draftKey = (id: string) => `document.${id}`;

function kept(id: string): Draft | null {
  try {
    const draft = JSON.parse(readDraft(draftKey(id))) as Draft;
    return typeof draft.text === 'string' && Number.isInteger(draft.base) ? draft : null;
  } catch {
    return null;
  }
}

const keep = (id: string, draft: Draft | null) => keepDraft(draftKey(id), draft ? JSON.stringify(draft) : '');

// Edit writes a new version by hand. What is typed is kept in the browser until the server has it.
export function Edit({ document, onSaved }: { document: Artifact; onSaved: (version: number) => void }) {
  // The text began with a version, however many come meanwhile. Each round is an editor of its own.
  const [began, setBegan] = useState(() => {
    const draft = kept(document.id);
    return { round: 0, base: draft?.base ?? document.version, draft: draft?.text ?? null };
  });
  const content = useQuery(contentOf(document.id, began.base));
  if (content.isPending) return <Loading what="the text" />;
  if (content.isError) return <Failed error={content.error} onRetry={() => void content.refetch()} />;
  return (
    <Editing
      key={began.round}
      document={document}
      base={began.base}
      stored={document.kind === 'json' ? shownJSON(content.data) : content.data}
      draft={began.draft}
      onSaved={onSaved}
      onDiscard={() => {
        keep(document.id, null);
        setBegan({ round: began.round + 1, base: document.version, draft: null });
      }}
    />
  );
}

interface Props {
  document: Artifact;
  base: number;
  stored: string;
  draft: string | null;
  onSaved: (version: number) => void;
  onDiscard: () => void;
}

function Editing({ document, base, stored, draft, onSaved, onDiscard }: Props) {
  const queries = useQueryClient();
  const [text, setText] = useState(draft ?? stored);
  const [error, setError] = useState('');
  const [stale, setStale] = useState(false); // the server refused it: there is a newer version
  const [busy, setBusy] = useState(false);
  const key = useMemo(() => `version ${crypto.randomUUID()}`, [text]); // the same text is written once
  const changed = text !== stored;
  const save = (how: { base_version: number; merge?: true }) => {
    if (busy || !changed) return;
    setBusy(true);
    setError('');
    Promise.resolve()
      .then(() => request<ArtifactVersion>(`/v1/artifacts/${document.id}/versions`, { method: 'POST', key: `${key} ${JSON.stringify(how)}`, raw: { body: versionBody(document.kind, text, how), type: 'application/json' } }))
      .then(
        (version) => {
          keep(document.id, null);
          void queries.invalidateQueries({ queryKey: ['document', document.id] });
          void queries.invalidateQueries({ queryKey: ['documents'] });
          onSaved(version.number);
        },
        (failure: unknown) => {
          setStale(failure instanceof Problem && failure.status === 409);
          setError(failure instanceof SyntaxError ? `This is not valid JSON: ${failure.message}` : sentence(failure));
          void queries.invalidateQueries({ queryKey: ['document', document.id], exact: true });
        },
      )
      .finally(() => setBusy(false));
  };
  return (
    <section aria-label="Edit">
      {document.version !== base && (
        <div role="status" className="mb-3 flex flex-wrap items-center gap-x-4 gap-y-2 rounded-xl border border-line bg-warn-soft px-4 py-2.5 text-sm">
          <span className="min-w-0 flex-1 basis-64">
            Version {document.version} was written meanwhile; this text began with version {base}.{' '}
            <Link to="/documents/$id" params={{ id: document.id }} search={{ tab: 'changes', from: String(base), version: String(document.version) }} className="text-accent underline underline-offset-2">
              See what changed
            </Link>
          </span>
          <Button disabled={busy || !changed} onClick={() => save({ base_version: base, merge: true })}>
            Join both
          </Button>
          {stale && (
            <Button look="danger" disabled={busy} onClick={() => save({ base_version: document.version })}>
              Replace it with mine
            </Button>
          )}
        </div>
      )}
      <Suspense fallback={<Loading what="the editor" />}>
        <Editor
          kind={document.kind}
          name={document.name}
          text={text}
          onChange={(now) => {
            setText(now);
            keep(document.id, now === stored ? null : { base, text: now });
          }}
          onSave={() => save({ base_version: base })}
        />
      </Suspense>
      {error && (
        <p role="alert" className="mt-3 text-sm text-bad">
          {error}
        </p>
      )}
      <div className="mt-3 flex items-center justify-end gap-2">
        {changed && <span className="mr-auto text-xs text-faint">Not saved; kept in this browser.</span>}
        <Button disabled={!changed && document.version === base} onClick={onDiscard}>
          Discard
        </Button>
        <Button look="primary" disabled={busy || !changed} onClick={() => save({ base_version: base })}>
          Save as version {document.version + 1}
        </Button>
      </div>
    </section>
  );
}
