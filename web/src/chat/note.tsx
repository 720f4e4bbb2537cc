import { ChevronRight } from 'lucide-react';
import { Suspense, useEffect, useState } from 'react';
import type { Message } from '../api/types';
import { cx } from '../components/ui';
import { part } from '../live/arrive';
import { Markdown } from '../markdown/markdown';
import { Actions } from './actions';
import { fromOf, revises } from './covers';

const Summary = part(() => import('./summary'), 'Summary');

interface Props {
  message: Message;
  sought?: boolean;
  later?: Message; // the summary that replaces this one
}

// NoteRow shows summaries, with the messages that they cover, and imported system messages.
export function NoteRow({ message, sought, later }: Props) {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    if (sought) setOpen(true);
  }, [sought]);
  const summary = message.role === 'summary';
  return (
    <article className="group/message rounded-xl border border-dashed border-line-strong bg-raised px-4 py-2 text-sm" data-message={message.id} data-summary={summary ? (message.marks.set_aside ? 'aside' : later ? 'replaced' : 'seen') : undefined}>
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)} className="flex w-full items-center gap-2 text-left text-soft">
        <ChevronRight size={14} aria-hidden className={cx('shrink-0 transition-transform', open && 'rotate-90')} />
        {summary ? lineOf(message, later) : 'System message'}
      </button>
      {open && (
        <div className="mt-2 space-y-3">
          <Markdown text={message.content.text ?? ''} complete />
          <Actions message={message} text={message.content.text ?? ''} shown />
          {summary && (
            <Suspense fallback={null}>
              <Summary message={message} later={later} />
            </Suspense>
          )}
        </div>
      )}
    </article>
  );
}

function lineOf(message: Message, later?: Message): string {
  const what = `Summary of #${fromOf(message)} to #${message.covers_through ?? '?'}`;
  if (message.marks.set_aside) return `${what}, set aside: the model does not see it`;
  if (later) return `${what}, ${revises(later) === message.id ? 'edited since' : 'replaced'}: the model sees the one in #${later.sequence}`;
  return `${what}; the model sees it instead`;
}
