import { useRouter } from '@tanstack/react-router';
import { createContext, type MouseEvent, useContext } from 'react';

// Checked holds the sources of a text that the server has checked, as session:sequence; null where every source that is
// shown comes from the server itself, or nothing is known about it.
export const Checked = createContext<ReadonlySet<string> | null>(null);

// SourceLink leads to the message that a claim comes from. A source that is not among the checked ones is only text.
export function SourceLink({ session, sequence }: { session: string; sequence: string }) {
  const router = useRouter({ warn: false }) as ReturnType<typeof useRouter> | undefined; // a text may stand alone
  const checked = useContext(Checked);
  if (checked && !checked.has(`${session.toLowerCase()}:${Number(sequence)}`)) {
    return (
      <span data-source="unchecked" className="text-xs text-faint" title={`The server has not checked this source: message ${sequence} of conversation ${session}`}>
        [{sequence}]<span className="sr-only"> (a source that the server has not checked)</span>
      </span>
    );
  }
  const go = (event: MouseEvent) => {
    if (!router || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    void router.navigate({ to: '/c/$id', params: { id: session }, search: { at: sequence } });
  };
  const title = `Message ${sequence} of conversation ${session}${checked ? ', checked by the server' : ''}`;
  return (
    <a href={`/c/${session}?at=${sequence}`} onClick={go} data-source className="text-xs" aria-label={`Source: message ${sequence}`} title={title}>
      [{sequence}]{checked && <span aria-hidden> ✓</span>}
    </a>
  );
}
