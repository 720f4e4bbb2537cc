import { useRouter } from '@tanstack/react-router';
import type { MouseEvent } from 'react';

// SourceLink leads to the message that a claim comes from.
export function SourceLink({ session, sequence }: { session: string; sequence: string }) {
  const router = useRouter({ warn: false }) as ReturnType<typeof useRouter> | undefined; // a text may stand alone
  const go = (event: MouseEvent) => {
    if (!router || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    void router.navigate({ to: '/c/$id', params: { id: session }, search: { at: sequence } });
  };
  return (
    <a href={`/c/${session}?at=${sequence}`} onClick={go} data-source className="text-xs" aria-label={`Source: message ${sequence}`} title={`Message ${sequence} of conversation ${session}`}>
      [{sequence}]
    </a>
  );
}
