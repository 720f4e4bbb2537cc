import { expect, test } from 'vitest';
import type { LineageEdge, LineageNode } from '../api/types';
import { kindOf, layered, linkOf, nameOf, plain, walked, writersOf } from './graph';

const node = (id: string, kind: LineageNode['kind'], fields: Partial<LineageNode> = {}): LineageNode => ({
  id, kind, artifact_id: kind === 'artifact' ? id : null, version: kind === 'artifact' ? 1 : null, transform_id: null, session_id: 's', message_id: null, call_id: null,
  name: id, status: 'completed', author: null, stale: false, purged: false, created_at: '2026-01-01T00:00:00.000Z', ...fields,
});
const edge = (from: string, to: string, kind: LineageEdge['kind'], fields: Partial<LineageEdge> = {}): LineageEdge => ({ from, to, kind, pointer: null, range: null, ...fields });

// A summary of two chapters, of which the second comes from the first.
const nodes = [node('summary', 'artifact'), node('sums', 'transform'), node('two', 'artifact'), node('one', 'artifact'), node('writes', 'transform'), node('call', 'call')];
const edges = [edge('sums', 'summary', 'output'), edge('one', 'sums', 'input', { pointer: '/a' }), edge('two', 'sums', 'input', { range: '3-7' }), edge('writes', 'two', 'output'), edge('one', 'writes', 'input'), edge('call', 'sums', 'wrote')];

test('a node stands farther away than all that it led to', () => {
  const column = Object.fromEntries(layered({ nodes, edges }, 'up').map((place) => [place.node.id, place.column]));
  expect(column).toEqual({ summary: 0, sums: 1, two: 2, call: 2, writes: 3, one: 4 });
  const down = layered({ nodes: nodes.toReversed(), edges }, 'down');
  expect(down.find((place) => place.node.id === 'summary')!.column).toBeGreaterThan(down.find((place) => place.node.id === 'one')!.column);
});

test('no two nodes stand in one place, and edges to nodes that were left out do no harm', () => {
  const many = Array.from({ length: 60 }, (_, i) => node(`n${i}`, 'artifact'));
  const lines = many.slice(1).map((one, i) => edge(one.id, `n${Math.floor(i / 3)}`, 'input'));
  const places = layered({ nodes: many, edges: [...lines, edge('gone', 'n1', 'input')] }, 'up');
  expect(new Set(places.map(({ column, row }) => `${column} ${row}`)).size).toBe(60);
});

test('arrows follow lines between columns, and rows within one', () => {
  const places = layered({ nodes, edges }, 'up');
  expect(walked(places, edges, 'summary', 'left', 'up')).toBe('sums');
  expect(walked(places, edges, 'sums', 'right', 'up')).toBe('summary');
  expect(walked(places, edges, 'summary', 'right', 'up')).toBeNull();
  expect(walked(places, edges, 'two', 'down', 'up') ?? walked(places, edges, 'two', 'up', 'up')).toBe('call');
  expect(walked(places, edges, 'none', 'left', 'up')).toBeNull();
});

test('a node is named, unless its reader may not see it', () => {
  expect(nameOf(nodes[0]!)).toBe('summary, version 1');
  expect(nameOf(node('x', 'message', { name: null }))).toBe('Message that you may not see');
  expect(nameOf(node('x', 'artifact', { name: null, purged: true }))).toBe('Document that was deleted');
  expect(kindOf(node('x', 'transform', { status: 'failed', author: { kind: 'agent', id: 'a', name: 'Ann' } }))).toBe('Transform · by Ann · failed');
  expect(edges.slice(1, 3).map(linkOf)).toEqual(['read by, at /a', 'read by, lines 3-7']);
});

test('an edit is named after who wrote by hand', () => {
  const edit = node('t', 'transform', { name: 'Restore', session_id: null, author: { kind: 'person', id: 'a', name: 'Ada' } });
  expect([kindOf(edit), nameOf(edit)]).toEqual(['By hand', 'Restored by Ada']);
  expect([kindOf(nodes[1]!), nameOf(nodes[1]!)]).toEqual(['Transform', 'sums']);
  expect(nameOf({ ...edit, name: null, author: null })).toBe('Transform that you may not see');
});

test('a line from a version to the next one is drawn once: through what wrote it, where that is there', () => {
  const lines = [edge('v1', 'v2', 'parent'), edge('v1', 'by', 'input'), edge('by', 'v2', 'output'), edge('v2', 'v3', 'parent'), edge('later', 'v3', 'output'), edge('v1', 'v2', 'restored')];
  expect(plain({ edges: lines }).edges).toEqual(lines.slice(1));
});

test('what wrote a version is found through its transform or its message', () => {
  expect(writersOf({ nodes, edges }).map(({ id }) => id)).toEqual(['sums', 'call']);
});
