import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { request, sentence } from '../api/http';
import type { Artifact, ArtifactVersion } from '../api/types';
import { fullTime, size } from '../components/format';
import { Badge, Button, Failed, Loading } from '../components/ui';
import { versionsOf } from './queries';
import { authorOf } from './words';

// History lists the versions of a document, newest first, with who wrote each and where.
export function History({ document, mayWrite }: { document: Artifact; mayWrite: boolean }) {
  const versions = useInfiniteQuery(versionsOf(document.id));
  const rows = versions.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <section aria-label="History">
      {versions.isPending && <Loading what="the versions" />}
      {versions.isError && <Failed error={versions.error} onRetry={() => void versions.refetch()} />}
      <ol className="divide-y divide-line">
        {rows.map((version) => (
          <Row key={version.number} document={document} version={version} mayWrite={mayWrite} />
        ))}
      </ol>
      {versions.hasNextPage && (
        <Button className="mt-3" disabled={versions.isFetchingNextPage} onClick={() => void versions.fetchNextPage()}>
          Show earlier ones
        </Button>
      )}
    </section>
  );
}

const LINK = 'text-accent underline underline-offset-2';

function Row({ document, version, mayWrite }: { document: Artifact; version: ArtifactVersion; mayWrite: boolean }) {
  const queries = useQueryClient();
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const { number } = version;
  const restore = () => {
    setBusy(true);
    setError('');
    request(`/v1/artifacts/${document.id}/versions/${number}/restore`, { method: 'POST', key: `restore ${document.id} ${number} ${document.version}` })
      .then(
        () => void queries.invalidateQueries({ queryKey: ['document', document.id] }),
        (failure: unknown) => setError(sentence(failure)),
      )
      .finally(() => setBusy(false));
  };
  return (
    <li data-version={number} className="flex flex-wrap items-center gap-x-4 gap-y-1 py-2.5 text-sm">
      <span className="min-w-0 flex-1 basis-64">
        <span className="flex flex-wrap items-center gap-2">
          <Link to="/documents/$id" params={{ id: document.id }} search={{ version: String(number) }} className={LINK}>
            Version {number}
          </Link>
          {number === document.version && <Badge tone="good">newest</Badge>}
          {version.restored_from !== null && <Badge>restores version {version.restored_from}</Badge>}
          {version.base !== null && version.base !== version.parent && version.restored_from === null && <Badge tone="accent">began with version {version.base}</Badge>}
        </span>
        <span className="block text-xs text-faint">
          {authorOf(version)} · {fullTime(version.created_at)} · {size(version.size)}
        </span>
      </span>
      <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
        {version.session_id && version.message_id && (
          <Link to="/c/$id" params={{ id: version.session_id }} search={{ at: version.message_id }} className={LINK}>
            Where it was written
          </Link>
        )}
        {version.parent !== null && (
          <Link to="/documents/$id" params={{ id: document.id }} search={{ tab: 'changes', version: String(number), from: String(version.parent) }} className={LINK}>
            What changed
          </Link>
        )}
        {mayWrite && number !== document.version && (
          <Button disabled={busy} onClick={restore} aria-label={`Restore version ${number}`}>
            Restore
          </Button>
        )}
      </span>
      {error && (
        <p role="alert" className="w-full text-bad">
          {error}
        </p>
      )}
    </li>
  );
}
