import type { Part, PartKind } from '../api/types';

// KINDS are the kinds of parts, in the order in which providers read them.
export const KINDS: Record<PartKind, { name: string; colour: string }> = {
  tool: { name: 'Tools', colour: 'bg-chart-3' },
  system: { name: 'System prompt', colour: 'bg-chart-1' },
  summary: { name: 'Summaries', colour: 'bg-chart-2' },
  context_note: { name: 'Notes', colour: 'bg-chart-4' },
  message: { name: 'Messages', colour: 'bg-chart-5' },
  parameters: { name: 'Parameters', colour: 'bg-chart-6' },
};

export interface Group {
  kind: PartKind;
  tokens: number;
  bytes: number;
  cached: number;
  parts: number[]; // their positions among all
}

// groupsOf groups parts by kind.
export function groupsOf(parts: Part[]): Group[] {
  const groups: Group[] = [];
  for (const kind of Object.keys(KINDS) as PartKind[]) {
    const group: Group = { kind, tokens: 0, bytes: 0, cached: 0, parts: [] };
    parts.forEach((part, at) => {
      if (part.kind !== kind) return;
      group.parts.push(at);
      group.tokens += part.tokens;
      group.bytes += part.bytes;
      group.cached += part.cached_tokens ?? 0;
    });
    if (group.parts.length > 0) groups.push(group);
  }
  return groups;
}

export interface Segment {
  kind: PartKind;
  from: number; // positions among all parts
  to: number;
  tokens: number;
}

const FINEST = 160; // segments of a bar at most, apart from one per run

// segmentsOf returns the pieces of the stacked bar: parts in order, with small
// neighbours of one kind merged.
export function segmentsOf(parts: Part[]): Segment[] {
  const least = parts.reduce((sum, part) => sum + part.tokens, 0) / FINEST;
  const segments: Segment[] = [];
  parts.forEach((part, at) => {
    if (part.tokens === 0) return;
    const last = segments.at(-1);
    if (last?.kind === part.kind && (last.tokens < least || part.tokens < least) && last.tokens < 2 * least) {
      last.to = at;
      last.tokens += part.tokens;
    } else segments.push({ kind: part.kind, from: at, to: at, tokens: part.tokens });
  });
  return segments;
}

export function labelOf(part: Part): string {
  if (part.kind === 'tool') return part.name ?? 'A tool';
  if (part.kind === 'system' || part.kind === 'parameters') return KINDS[part.kind].name;
  const what = part.kind === 'summary' ? 'summary' : part.kind === 'context_note' ? 'note' : (part.role ?? '');
  return `${part.sequence === null ? '' : `#${part.sequence} `}${what}${part.name ? ` · ${part.name}` : ''}`;
}

// bytesOf cuts a part out of the request, by bytes.
export function bytesOf(request: string, part: Part): string {
  if (!part.span) return '';
  const bytes = new TextEncoder().encode(request);
  return new TextDecoder().decode(bytes.subarray(part.span.offset, part.span.offset + part.span.length));
}
