import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { request } from '../api/http';
import type { Artifact, ID, Lineage, LineageNode } from '../api/types';
import { fullTime } from '../components/format';
import { useReader } from '../components/role';
import { Badge, Button, cx, Failed, Loading, Select } from '../components/ui';
import { Refresh } from './refresh';
import { type Direction, kindOf, layered, linkOf, nameOf, plain, walked, writersOf } from './graph';

const WIDTH = 188; // of a node, in pixels
const HEIGHT = 54;
const BETWEEN = 44; // columns
const GAP = 12; // rows
const DEPTHS = ['3', '10', '30', '64'];

interface Part {
  pointer?: string;
  range?: string;
}

interface Props {
  document: Artifact;
  version: number;
  part: Part;
}

const LINK = 'text-accent underline underline-offset-2';

// Walk shows what a version of a document was made from, or what came of it, as a graph and as a list.
export function Walk({ document, version, part }: Props) {
  const [direction, setDirection] = useState<Direction>('up');
  const [depth, setDepth] = useState('10');
  const [listed, setListed] = useState(false);
  const reader = useReader();
  const query = { version, direction, depth, ...part };
  const lineage = useQuery({
    queryKey: ['document', document.id, 'lineage', query],
    queryFn: ({ signal }) => request<Lineage>(`/v1/artifacts/${document.id}/lineage`, { query, signal }),
    select: plain,
  });
  return (
    <section aria-label="Lineage">
      <div className="mb-4 flex flex-wrap items-center gap-2">
        <Select aria-label="Direction" value={direction} onChange={(event) => setDirection(event.target.value as Direction)} className="max-w-60">
          <option value="up">What it was made from</option>
          <option value="down">What came of it</option>
        </Select>
        <Select aria-label="Depth" value={depth} onChange={(event) => setDepth(event.target.value)} className="max-w-32">
          {DEPTHS.map((one) => (
            <option key={one} value={one}>
              {one} steps
            </option>
          ))}
        </Select>
        <Button aria-pressed={listed} onClick={() => setListed(!listed)}>
          As a list
        </Button>
        {!reader && direction === 'up' && version === document.version && lineage.data?.nodes.some((one) => one.stale) && <Refresh document={document.id} />}
      </div>
      {lineage.isPending && <Loading what="the lineage" />}
      {lineage.isError && <Failed error={lineage.error} onRetry={() => void lineage.refetch()} />}
      {lineage.data && (
        <>
          {(part.pointer !== undefined || part.range !== undefined) && <Changed lineage={lineage.data} part={part} document={document.id} />}
          {lineage.data.truncated && <p className="mb-3 text-sm text-soft">There is more than can be shown.</p>}
          {listed ? <List lineage={lineage.data} /> : <Graph key={direction} lineage={lineage.data} direction={direction} />}
        </>
      )}
    </section>
  );
}

// Changed says which version last changed a part, and leads to what wrote it.
function Changed({ lineage, part, document }: { lineage: Lineage; part: Part; document: ID }) {
  const { changed } = lineage;
  if (!changed) return null;
  return (
    <div className="mb-4 rounded-xl border border-line bg-raised px-4 py-3 text-sm" data-changed={changed.version}>
      <p>
        {part.range !== undefined ? `${part.range.includes('-') ? 'Lines' : 'Line'} ${part.range}` : part.pointer || 'The whole value'} last changed in{' '}
        <Link to="/documents/$id" params={{ id: document }} search={{ version: String(changed.version) }} className={LINK}>
          version {changed.version}
        </Link>
        {!changed.complete && ', as far as the history can be followed'}.
      </p>
      <ul className="mt-1 space-y-1">
        {[lineage.nodes[0]!, ...writersOf(lineage)].map((node) => (
          <li key={node.id}>
            <Place node={node} />
          </li>
        ))}
      </ul>
    </div>
  );
}

// Place leads to where a node is.
function Place({ node }: { node: LineageNode }) {
  const name = `${kindOf(node)}: ${nameOf(node)}`;
  if (node.artifact_id && !node.purged)
    return (
      <Link to="/documents/$id" params={{ id: node.artifact_id }} search={{ tab: 'lineage', version: String(node.version) }} className={LINK}>
        {name}
      </Link>
    );
  if (!node.session_id || node.purged || node.name === null) return <span className="text-soft">{name}</span>;
  if (node.kind === 'message')
    return (
      <Link to="/c/$id" params={{ id: node.session_id }} search={{ at: node.message_id ?? undefined }} className={LINK}>
        {name}
      </Link>
    );
  return (
    <Link to="/c/$id/inspect" params={{ id: node.session_id }} search={node.call_id ? { row: `call-${node.call_id}` } : {}} className={LINK}>
      {name}
      {node.kind === 'call' && ', explained'}
    </Link>
  );
}

function Graph({ lineage, direction }: { lineage: Lineage; direction: Direction }) {
  const navigate = useNavigate();
  const places = useMemo(() => layered(lineage, direction), [lineage, direction]);
  const [chosen, setChosen] = useState(lineage.nodes[0]?.id ?? '');
  const here = useRef<HTMLDivElement>(null);
  const columns = Math.max(...places.map(({ column }) => column)) + 1;
  const rows = Math.max(...places.map(({ row }) => row)) + 1;
  const left = (column: number) => (direction === 'up' ? columns - 1 - column : column) * (WIDTH + BETWEEN);
  const top = (row: number) => row * (HEIGHT + GAP);
  const at = new Map(places.map((place) => [place.node.id, place]));
  const selected = at.get(chosen)?.node ?? lineage.nodes[0];
  useLayoutEffect(() => {
    if (direction === 'up' && here.current) here.current.scrollLeft = here.current.scrollWidth; // the first node stands at the end
  }, [direction, lineage]);
  const choose = (id: string) => {
    setChosen(id);
    here.current?.querySelector<HTMLElement>(`[data-node="${CSS.escape(id)}"]`)?.focus();
  };
  const onKey = (event: KeyboardEvent) => {
    const way = ({ ArrowLeft: 'left', ArrowRight: 'right', ArrowUp: 'up', ArrowDown: 'down' } as const)[event.key];
    if (!way) return;
    event.preventDefault();
    const next = walked(places, lineage.edges, chosen, way, direction);
    if (next) choose(next);
  };
  const open = (node: LineageNode) => {
    if (node.name === null || node.purged) return;
    if (node.artifact_id) return void navigate({ to: '/documents/$id', params: { id: node.artifact_id }, search: { tab: 'lineage', version: String(node.version) } });
    if (!node.session_id) return;
    if (node.kind === 'message') void navigate({ to: '/c/$id', params: { id: node.session_id }, search: { at: node.message_id ?? undefined } });
    else void navigate({ to: '/c/$id/inspect', params: { id: node.session_id }, search: node.call_id ? { row: `call-${node.call_id}` } : {} });
  };
  return (
    <>
      <div ref={here} role="group" aria-label="Lineage as a graph: arrow keys walk, Enter opens" onKeyDown={onKey} className="max-h-[60dvh] overflow-auto rounded-xl border border-line bg-raised p-4">
        <div className="relative" style={{ width: columns * (WIDTH + BETWEEN) - BETWEEN, height: rows * (HEIGHT + GAP) - GAP }}>
          <svg aria-hidden className="absolute inset-0 size-full overflow-visible">
            {lineage.edges.map((edge, i) => {
              const from = at.get(edge.from);
              const to = at.get(edge.to);
              if (!from || !to) return null;
              const [x1, y1, x2, y2] = [left(from.column) + WIDTH, top(from.row) + HEIGHT / 2, left(to.column), top(to.row) + HEIGHT / 2];
              const touches = edge.from === chosen || edge.to === chosen;
              return <path key={i} d={`M${x1},${y1} C${x1 + BETWEEN / 2},${y1} ${x2 - BETWEEN / 2},${y2} ${x2},${y2}`} fill="none" strokeWidth={touches ? 2 : 1} className={touches ? 'stroke-accent' : 'stroke-line-strong'} strokeDasharray={edge.kind === 'trigger' ? '4 3' : undefined} />;
            })}
          </svg>
          {places.map(({ node, column, row }) => (
            <button
              key={node.id}
              type="button"
              data-node={node.id}
              tabIndex={node.id === chosen ? 0 : -1}
              aria-current={node.id === chosen || undefined}
              onFocus={() => setChosen(node.id)}
              onClick={() => choose(node.id)}
              onDoubleClick={() => open(node)}
              onKeyDown={(event) => {
                if (event.key !== 'Enter') return;
                event.preventDefault();
                open(node);
              }}
              style={{ left: left(column), top: top(row), width: WIDTH, height: HEIGHT }}
              className={cx(
                'absolute flex flex-col justify-center rounded-lg border bg-bg px-2.5 text-left focus-visible:outline-2 focus-visible:outline-accent',
                node.id === chosen ? 'border-accent' : node.stale ? 'border-warn' : 'border-line-strong',
                node.name === null && 'border-dashed',
              )}
            >
              <span className="w-full truncate text-[13px] font-medium">{node.version === null ? nameOf(node) : (node.name ?? nameOf(node))}</span>
              <span className="flex w-full items-center gap-1 text-xs text-faint">
                <span className="truncate">{node.version !== null && `Version ${node.version} · `}{kindOf(node)}</span>
                {node.stale && <span className="text-warn">stale</span>}
              </span>
            </button>
          ))}
        </div>
      </div>
      {selected && (
        <p role="status" className="mt-3 flex flex-wrap items-center gap-x-3 gap-y-1 text-sm">
          <Place node={selected} />
          {selected.stale && <Badge tone="warn">stale: an input has a newer version</Badge>}
          <span className="text-xs text-faint">{fullTime(selected.created_at)}</span>
        </p>
      )}
    </>
  );
}

// List is the graph for those who would rather read it.
function List({ lineage }: { lineage: Lineage }) {
  const byID = new Map(lineage.nodes.map((node) => [node.id, node]));
  return (
    <ol className="divide-y divide-line text-sm">
      {lineage.nodes.map((node) => (
        <li key={node.id} className="py-2" data-listed={node.id}>
          <span className="flex flex-wrap items-center gap-2">
            <Place node={node} />
            {node.stale && <Badge tone="warn">stale</Badge>}
          </span>
          <ul className="ml-4 text-xs text-soft">
            {lineage.edges
              .filter((edge) => edge.to === node.id && byID.has(edge.from))
              .map((edge, i) => (
                <li key={i}>
                  {nameOf(byID.get(edge.from)!)} {linkOf(edge)} it
                </li>
              ))}
          </ul>
        </li>
      ))}
    </ol>
  );
}
