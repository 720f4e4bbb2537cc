import type { Lineage, LineageEdge, LineageNode } from '../api/types';

export type Direction = 'up' | 'down';

// Place is where a node stands: its column, counted from the first node, and its row.
export interface Place {
  node: LineageNode;
  column: number;
  row: number;
}

// layered places the nodes of a lineage in columns: each node farther from the first one than all that lead to it. Rows
// follow the neighbours in the column before, so that few lines cross.
export function layered({ nodes, edges }: Pick<Lineage, 'nodes' | 'edges'>, direction: Direction): Place[] {
  const known = new Set(nodes.map(({ id }) => id));
  const away = edges.filter(({ from, to }) => known.has(from) && known.has(to)).map(({ from, to }) => (direction === 'up' ? ([to, from] as const) : ([from, to] as const)));
  const next = grouped(away, ([near]) => near);
  const before = grouped(away, ([, far]) => far);
  const column = new Map(nodes.map(({ id }) => [id, 0]));
  const open = new Map(nodes.map(({ id }) => [id, before.get(id)?.length ?? 0]));
  const ready = nodes.filter(({ id }) => open.get(id) === 0).map(({ id }) => id);
  for (let id = ready.shift(); id !== undefined; id = ready.shift()) {
    for (const [, far] of next.get(id) ?? []) {
      column.set(far, Math.max(column.get(far)!, column.get(id)! + 1));
      open.set(far, open.get(far)! - 1);
      if (open.get(far) === 0) ready.push(far);
    }
  }
  const row = new Map<string, number>();
  const columns = grouped(nodes, ({ id }) => column.get(id)!);
  for (const at of [...columns.keys()].sort((a, b) => a - b)) {
    const middle = ({ id }: LineageNode) => {
      const rows = (before.get(id) ?? []).flatMap(([near]) => (column.get(near)! < at ? [row.get(near)!] : []));
      return rows.length === 0 ? 0 : rows.reduce((sum, one) => sum + one, 0) / rows.length;
    };
    const inOrder = columns.get(at)!.map((node, i) => ({ node, i, middle: middle(node) })).sort((a, b) => a.middle - b.middle || a.i - b.i);
    inOrder.forEach(({ node }, i) => row.set(node.id, i));
  }
  return nodes.map((node) => ({ node, column: column.get(node.id)!, row: row.get(node.id)! }));
}

function grouped<T, Key>(list: T[], key: (one: T) => Key): Map<Key, T[]> {
  const groups = new Map<Key, T[]>();
  for (const one of list) groups.set(key(one), [...(groups.get(key(one)) ?? []), one]);
  return groups;
}

// walked is the node to which an arrow key leads: above or below in the column, or along a line to the column beside it.
export function walked(places: Place[], edges: LineageEdge[], from: string, way: 'left' | 'right' | 'up' | 'down', direction: Direction): string | null {
  const at = places.find(({ node }) => node.id === from);
  if (!at) return null;
  if (way === 'up' || way === 'down') return places.find(({ column, row }) => column === at.column && row === at.row + (way === 'up' ? -1 : 1))?.node.id ?? null;
  const farther = (way === 'left') === (direction === 'up'); // causes stand on the left
  const joined = new Set(edges.flatMap(({ from: cause, to: effect }) => (cause === from ? [effect] : effect === from ? [cause] : [])));
  const there = places.filter(({ node, column }) => joined.has(node.id) && (farther ? column > at.column : column < at.column));
  return there.sort((a, b) => Math.abs(a.column - at.column) - Math.abs(b.column - at.column) || Math.abs(a.row - at.row) - Math.abs(b.row - at.row))[0]?.node.id ?? null;
}

// plain leaves out what a way through a transform says already: that a version was made from the one before it.
export function plain<L extends Pick<Lineage, 'edges'>>(lineage: L): L {
  const read = new Set(lineage.edges.flatMap(({ kind, from, to }) => (kind === 'input' ? [`${from} ${to}`] : [])));
  const wrote = grouped(lineage.edges.filter(({ kind }) => kind === 'output'), ({ to }) => to);
  const said = ({ kind, from, to }: LineageEdge) => kind === 'parent' && (wrote.get(to) ?? []).some((by) => read.has(`${from} ${by.from}`));
  return { ...lineage, edges: lineage.edges.filter((edge) => !said(edge)) };
}

const KINDS: Record<LineageNode['kind'], string> = { artifact: 'Document', transform: 'Transform', message: 'Message', call: 'Model call' };

// DONE says what the name of an edit does not: that it has happened.
const DONE: Record<string, string> = { Create: 'Created', Edit: 'Edited', Restore: 'Restored', Import: 'Imported' };

// editOf is who wrote by hand, if the node is an edit: a generation has no author.
const editOf = ({ kind, author }: LineageNode) => (kind === 'transform' && author && author.kind !== 'agent' ? author : null);

// nameOf names a node for people. One that they may not see has only its kind.
export function nameOf(node: LineageNode): string {
  if (node.name === null) return node.purged ? `${KINDS[node.kind]} that was deleted` : `${KINDS[node.kind]} that you may not see`;
  if (node.kind === 'artifact') return `${node.name}, version ${node.version}`;
  const by = editOf(node);
  if (by) return `${DONE[node.name] ?? node.name} by ${by.name || 'somebody'}`;
  return node.name || KINDS[node.kind];
}

// kindOf says what a node is, and what matters about it.
export function kindOf(node: LineageNode): string {
  if (editOf(node)) return 'By hand';
  const author = node.author?.name && `by ${node.author.name}`;
  return [KINDS[node.kind], author, node.status && node.status !== 'completed' ? node.status : '', node.purged ? 'deleted' : ''].filter(Boolean).join(' · ');
}

const EDGES: Record<LineageEdge['kind'], string> = { input: 'read by', output: 'wrote', trigger: 'asked for', wrote: 'wrote', parent: 'became', restored: 'restored as' };

// linkOf says how one node led to another.
export const linkOf = ({ kind, pointer, range }: LineageEdge): string => [EDGES[kind], pointer && `at ${pointer}`, range && `lines ${range}`].filter(Boolean).join(', ');

// writersOf are the nodes that led to the first one directly or by a message: what a part of a document was written by.
export function writersOf({ nodes, edges }: Pick<Lineage, 'nodes' | 'edges'>): LineageNode[] {
  const byID = new Map(nodes.map((node) => [node.id, node]));
  const found: LineageNode[] = [];
  let reached = nodes.slice(0, 1).map(({ id }) => id);
  for (let step = 0; step < 3 && reached.length > 0; step++) {
    reached = edges.flatMap(({ kind, from, to }) => (reached.includes(to) && (kind === 'wrote' || kind === 'output') ? [from] : []));
    for (const id of reached) {
      const node = byID.get(id);
      if (node && !found.includes(node)) found.push(node);
    }
  }
  return found;
}
