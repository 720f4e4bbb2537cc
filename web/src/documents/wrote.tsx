import { Link } from '@tanstack/react-router';
import { Waypoints } from 'lucide-react';
import type { ID } from '../api/types';
import type { Passage } from './words';

// Wrote leads from a passage to what wrote it.
export function Wrote({ document, version, passage }: { document: ID; version: number; passage: Passage | null }) {
  const [first, last] = passage?.lines ?? [];
  const part = passage?.pointer ? { pointer: passage.pointer } : first ? { range: first === last ? String(first) : `${first}-${last}` } : null;
  if (!part) return null;
  return (
    <Link
      to="/documents/$id"
      params={{ id: document }}
      search={{ tab: 'lineage', version: String(version), ...part }}
      onPointerDown={(event) => event.preventDefault() /* keeps the selection */}
      draggable={false}
      className="inline-flex min-h-8 items-center gap-1.5 rounded-lg border border-line-strong bg-bg px-3 text-sm font-medium hover:bg-hover"
    >
      <Waypoints size={14} aria-hidden /> What wrote this
    </Link>
  );
}
