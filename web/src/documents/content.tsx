import { useEffect, useMemo, useState } from 'react';
import type { Artifact, ArtifactVersion } from '../api/types';
import { size } from '../components/format';
import { jsonOf, JsonTree } from '../components/json';
import { CodeBlock } from '../markdown/code';
import { Markdown } from '../markdown/markdown';
import { tableOf } from './csv';
import { shownJSON } from './json';

const ROWS = 500; // of a table that are drawn

// Content shows what a version holds: as it is meant to be read, or its source.
export function Content({ document, text, source }: { document: Artifact; text: string; source: boolean }) {
  if (source || document.kind === 'code' || document.kind === 'text') return <Source document={document} text={text} />;
  switch (document.kind) {
    case 'markdown':
      return <Markdown text={text} complete />;
    case 'csv':
      return <Rows text={text} />;
    case 'html':
      return <Framed name={document.name} text={text} />;
    case 'svg':
      return <Drawing name={document.name} text={text} />;
    case 'json':
      return <Tree text={text} />;
    case 'file':
      return null; // Bytes shows it
  }
}

const SHOWN = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

// Bytes shows a version of a file: an image, or what it is and where it can be downloaded.
export function Bytes({ document, version }: { document: Artifact; version: ArtifactVersion }) {
  const address = `/v1/artifacts/${document.id}/content?version=${version.number}`;
  return (
    <>
      {SHOWN.has(version.media_type ?? '') && <img src={address} alt={document.name} className="mx-auto mb-4 max-h-[70dvh] max-w-full rounded-xl border border-line bg-white p-2" />}
      <p className="text-sm text-soft">
        {version.media_type}, {size(version.size)} ·{' '}
        <a href={address} download={document.name} className="text-accent underline underline-offset-2">
          Download
        </a>
      </p>
    </>
  );
}

function Source({ document, text }: { document: Artifact; text: string }) {
  if (document.kind === 'text') return <p className="text-[15px] leading-relaxed break-words whitespace-pre-wrap">{text}</p>;
  return <CodeBlock text={document.kind === 'json' ? shownJSON(text) : text} language={languageOf(document)} closed />;
}

const LANGUAGES: Partial<Record<Artifact['kind'], string>> = { json: 'json', markdown: 'markdown', html: 'html', svg: 'xml' };

// languageOf is the language of a document's source: of code, by the end of its name.
export function languageOf({ kind, name }: Pick<Artifact, 'kind' | 'name'>): string {
  return LANGUAGES[kind] ?? (kind === 'code' ? (/\.([a-z0-9+#]+)$/i.exec(name)?.[1]?.toLowerCase() ?? '') : '');
}

function Tree({ text }: { text: string }) {
  const value = useMemo(() => jsonOf(text), [text]);
  return value ? (
    <div className="font-mono text-[13px] leading-relaxed">
      <JsonTree value={value} />
    </div>
  ) : (
    <CodeBlock text={text} language="json" closed />
  );
}

function Rows({ text }: { text: string }) {
  const { rows, left } = useMemo(() => tableOf(text, ROWS), [text]);
  const [names, ...values] = rows;
  if (!names) return <p className="text-sm text-soft">The table is empty.</p>;
  return (
    <>
      <div className="overflow-x-auto rounded-xl border border-line" tabIndex={0} role="region" aria-label="Table">
        <table className="w-full text-left text-sm">
          <thead className="bg-raised">
            <tr>
              {names.map((name, i) => (
                <th key={i} scope="col" className="px-3 py-2 font-medium whitespace-nowrap">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody className="divide-y divide-line">
            {values.map((row, i) => (
              <tr key={i}>
                {row.map((value, j) => (
                  <td key={j} className="px-3 py-1.5 align-top whitespace-pre-wrap">
                    {value}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {left > 0 && <p className="mt-2 text-sm text-soft">{left.toLocaleString()} more rows are in the source.</p>}
    </>
  );
}

// What a frame may do: show its own text, with its own styles and pictures inside it. The page's own policy holds beside
// this one, and the sandbox runs no script and gives no origin.
const ALONE = `<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:">`;

function Framed({ name, text }: { name: string; text: string }) {
  return <iframe title={name} sandbox="" srcDoc={ALONE + text} className="h-[70dvh] w-full rounded-xl border border-line bg-white" />;
}

// Drawing shows a drawing as a picture, in which no script runs and which loads nothing.
function Drawing({ name, text }: { name: string; text: string }) {
  const [address, setAddress] = useState('');
  const [broken, setBroken] = useState(false);
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([text], { type: 'image/svg+xml' }));
    setAddress(made);
    setBroken(false);
    return () => URL.revokeObjectURL(made);
  }, [text]);
  if (broken) return <p className="text-sm text-soft">This cannot be drawn. Its source can be read.</p>;
  return address && <img src={address} alt={name} onError={() => setBroken(true)} className="mx-auto max-h-[70dvh] max-w-full rounded-xl border border-line bg-white p-2" />;
}
