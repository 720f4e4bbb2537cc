import { useEffect, useMemo, useRef, useState } from 'react';
import type { Artifact, ArtifactVersion } from '../api/types';
import { size } from '../components/format';
import { type Choice, type Json, jsonOf, JsonTree } from '../components/json';
import { shared } from '../live/patch';
import { CodeBlock } from '../markdown/code';
import { Markdown } from '../markdown/markdown';
import { tableOf } from './csv';
import { shownJSON } from './json';

const ROWS = 500; // of a table that are drawn

// Text is what a version holds: its text, or of JSON that is being written the value so far.
export type Text = { text: string; value?: undefined } | { text?: undefined; value: Json };

interface Props {
  document: Pick<Artifact, 'kind' | 'name'>;
  content: Text;
  source: boolean;
  grows?: boolean; // more of it follows
  choice?: Choice; // of parts of a tree
}

// Content shows what a version holds: as it is meant to be read, or its source. One that grows keeps what it has drawn.
export function Content({ document, content, source, grows = false, choice }: Props) {
  const { kind } = document;
  if (!source && (kind === 'json' || content.value)) return <Tree {...content} choice={choice} />;
  const text = content.text ?? JSON.stringify(content.value, null, 2);
  if (source || kind === 'code' || kind === 'text' || (grows && FRAMED.has(kind))) return <Source document={document} text={text} closed={!grows} />;
  switch (kind) {
    case 'markdown':
      return <Markdown text={text} complete={!grows} />;
    case 'csv':
      return <Rows text={text} />;
    case 'html':
      return <Framed name={document.name} text={text} />;
    case 'svg':
      return <Drawing name={document.name} text={text} />;
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

// SOURCES are shown in two ways.
export const SOURCES = new Set<Artifact['kind']>(['markdown', 'json', 'csv', 'html', 'svg']);

// FRAMED would begin again with every piece while they grow.
const FRAMED = new Set<Artifact['kind']>(['html', 'svg']);

function Source({ document, text, closed }: { document: Pick<Artifact, 'kind' | 'name'>; text: string; closed: boolean }) {
  if (document.kind === 'text') return <p className="text-[15px] leading-relaxed break-words whitespace-pre-wrap">{text}</p>;
  return <CodeBlock text={document.kind === 'json' ? shownJSON(text) : text} language={languageOf(document)} closed={closed} />;
}

const LANGUAGES: Partial<Record<Artifact['kind'], string>> = { json: 'json', markdown: 'markdown', html: 'html', svg: 'xml' };

// languageOf is the language of a document's source: of code, by the end of its name.
export function languageOf({ kind, name }: Pick<Artifact, 'kind' | 'name'>): string {
  return LANGUAGES[kind] ?? (kind === 'code' ? (/\.([a-z0-9+#]+)$/i.exec(name)?.[1]?.toLowerCase() ?? '') : '');
}

// Tree is JSON as a tree. Of another version, and of one that grows, only what differs is drawn again.
function Tree({ text = '', value, choice }: { text?: string; value?: Json; choice?: Choice }) {
  const last = useRef<Json | null>(null);
  const shown = useMemo(() => (last.current = shared(last.current, value ?? jsonOf(text)) as Json | null), [text, value]);
  if (!shown) return <CodeBlock text={text} language="json" closed />;
  return (
    <div className="font-mono text-[13px] leading-relaxed">
      <JsonTree value={shown} unfolds choice={choice} />
    </div>
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
