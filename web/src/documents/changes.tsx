import { useQuery } from '@tanstack/react-query';
import type { Artifact, ArtifactDiff, DiffLine, JsonEdit, TextHunk } from '../api/types';
import { size } from '../components/format';
import { Badge, Failed, Input, Loading } from '../components/ui';
import { changesOf } from './queries';

// Changes compares two versions of a document.
export function Changes({ document, from, to, onChoose }: { document: Artifact; from: number; to: number; onChoose: (change: { from?: number; version?: number }) => void }) {
  const changes = useQuery(changesOf(document.id, from, to));
  return (
    <section aria-label="Changes">
      <div className="mb-4 flex flex-wrap items-center gap-2 text-sm text-soft">
        From version
        <Number name="Earlier version" value={from} most={document.version} onChoose={(chosen) => onChoose({ from: chosen })} />
        to version
        <Number name="Later version" value={to} most={document.version} onChoose={(chosen) => onChoose({ version: chosen })} />
      </div>
      {changes.isPending && <Loading what="the changes" />}
      {changes.isError && <Failed error={changes.error} onRetry={() => void changes.refetch()} />}
      {changes.data && <Difference diff={changes.data} />}
    </section>
  );
}

function Number({ name, value, most, onChoose }: { name: string; value: number; most: number; onChoose: (version: number) => void }) {
  return (
    <Input
      type="number"
      aria-label={name}
      min={1}
      max={most}
      value={value}
      onChange={(event) => {
        const chosen = event.target.valueAsNumber;
        if (globalThis.Number.isInteger(chosen) && chosen >= 1 && chosen <= most) onChoose(chosen);
      }}
      className="max-w-20"
    />
  );
}

function Difference({ diff }: { diff: ArtifactDiff }) {
  if (diff.files) return <Files files={diff.files} />;
  const none = diff.patch ? diff.patch.length === 0 : diff.hunks?.length === 0;
  if (none) return <p className="text-sm text-soft">Nothing: the two versions are the same.</p>;
  return (
    <>
      {diff.patch && <Edits edits={diff.patch} />}
      {diff.hunks && <Hunks hunks={diff.hunks} />}
      {diff.truncated && <p className="mt-2 text-sm text-soft">There are more changes than can be shown.</p>}
    </>
  );
}

// Files says what two versions of a file are: their bytes are not compared.
function Files({ files }: { files: NonNullable<ArtifactDiff['files']> }) {
  return (
    <ul className="divide-y divide-line rounded-xl border border-line text-sm">
      {files.map((file, i) => (
        <li key={i} className="flex flex-wrap items-baseline gap-x-3 gap-y-1 px-3 py-2">
          <span className="font-medium">version {file.version}</span>
          <span>{file.media_type}</span>
          <span className="text-soft">{size(file.size)}</span>
          <span className="font-mono text-xs [overflow-wrap:anywhere] text-faint">SHA-256 {file.content_hash}</span>
        </li>
      ))}
    </ul>
  );
}

const SIGNS: Record<DiffLine['op'], string> = { same: ' ', removed: '−', added: '+' };
const LOOKS: Record<DiffLine['op'], string> = { same: 'text-soft', removed: 'bg-bad-soft text-bad', added: 'bg-good-soft text-good' };

function Hunks({ hunks }: { hunks: TextHunk[] }) {
  return (
    <div tabIndex={0} role="region" aria-label="Lines that changed" className="overflow-x-auto rounded-xl border border-line bg-code font-mono text-xs leading-relaxed">
      {hunks.map((hunk, i) => (
        <div key={i} className="border-b border-line last:border-0">
          <p className="px-3 py-1 text-faint">
            line {hunk.from} → {hunk.to}
          </p>
          {hunk.lines.map((line, j) => (
            <Line key={j} line={line} />
          ))}
        </div>
      ))}
    </div>
  );
}

function Line({ line }: { line: DiffLine }) {
  return (
    <p className={`px-3 [overflow-wrap:anywhere] whitespace-pre-wrap ${LOOKS[line.op]}`}>
      <span aria-label={line.op === 'same' ? undefined : line.op}>{SIGNS[line.op]}</span>{' '}
      {line.parts?.map((part, i) => (part.changed ? <strong key={i} className="underline decoration-2 underline-offset-2">{part.text}</strong> : <span key={i}>{part.text}</span>)) ?? line.text}
    </p>
  );
}

function Edits({ edits }: { edits: JsonEdit[] }) {
  const tones = { add: 'good', remove: 'bad', replace: 'warn', move: 'accent', copy: 'accent', test: 'plain' } as const;
  return (
    <ul className="divide-y divide-line rounded-xl border border-line font-mono text-xs">
      {edits.map((edit, i) => (
        <li key={i} className="flex flex-wrap items-baseline gap-2 px-3 py-2">
          <Badge tone={tones[edit.op]}>{edit.op}</Badge>
          <span className="[overflow-wrap:anywhere]">{edit.path || 'everything'}</span>
          {edit.from !== null && <span className="text-faint">from {edit.from}</span>}
          {(edit.op === 'add' || edit.op === 'replace') && <span className="[overflow-wrap:anywhere] text-soft">{JSON.stringify(edit.value)}</span>}
        </li>
      ))}
    </ul>
  );
}
