import { Link } from '@tanstack/react-router';
import { FileText } from 'lucide-react';
import { useSyncExternalStore } from 'react';
import type { ID } from '../api/types';
import type { Call } from '../chat/rows';
import { writtenBy } from './written';

// DocumentLine is the document that a call writes: it opens beside the conversation, also while it is written.
export function DocumentLine({ one: { call, result }, session }: { one: Call; session: ID }) {
  useSyncExternalStore(call.subscribe, call.snapshot);
  const { message } = call;
  const written = writtenBy(result?.message);
  const failed = (result !== null && !written) || message.status === 'failed' || message.status === 'cancelled';
  const { name: given, id } = message.content.arguments ?? {};
  const name = written?.name ?? (typeof given === 'string' ? given : nameIn(call.text('arguments')));
  const known = written?.id ?? (typeof id === 'string' ? id : null);
  if (failed && !known) return null;
  return (
    <Link
      to="/c/$id"
      params={{ id: session }}
      search={{ panel: 'documents', ...(known ? { document: known } : { call: message.id }) }}
      data-opens={known ?? message.id}
      className="flex min-h-9 items-center gap-2 px-3 py-1.5 hover:bg-hover"
    >
      <FileText size={14} aria-hidden className="shrink-0 text-faint" />
      <span className="min-w-0 flex-1 truncate font-medium">{name ?? 'A document'}</span>
      <span className="shrink-0 text-xs text-faint">{failed ? 'not written' : written ? `version ${written.version}` : 'being written…'}</span>
      <span className="shrink-0 text-xs text-accent underline underline-offset-2">Open</span>
    </Link>
  );
}

// nameIn finds the name in arguments that still grow.
function nameIn(text: string): string | null {
  const found = /"name"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(text);
  try {
    return found ? (JSON.parse(found[1]!) as string) : null;
  } catch {
    return null;
  }
}
