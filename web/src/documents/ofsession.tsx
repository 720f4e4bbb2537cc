import type { Session } from '../api/types';
import { Documents } from './rows';

// SessionDocuments are the documents that belong to a conversation.
export function SessionDocuments({ session }: { session: Session }) {
  return (
    <Documents
      beside={session.id}
      filter={{ session: session.id, archived: 'any' }}
      empty={<p className="text-sm text-soft">Nothing yet. Documents that an agent writes here appear at once; it needs the tools for documents.</p>}
    />
  );
}
