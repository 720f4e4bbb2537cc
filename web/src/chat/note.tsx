import { useQuery } from '@tanstack/react-query';
import { ChevronRight } from 'lucide-react';
import { useEffect, useState } from 'react';
import { resultText } from '../api/parts';
import { coveredBy } from '../api/queries';
import type { Message } from '../api/types';
import { Button, cx, Failed, Loading } from '../components/ui';
import { Markdown } from '../markdown/markdown';
import { Actions } from './actions';

// NoteRow shows summaries, with the messages that they cover, and imported system messages.
export function NoteRow({ message, sought }: { message: Message; sought?: boolean }) {
  const [open, setOpen] = useState(false);
  const [covered, setCovered] = useState(false);
  useEffect(() => {
    if (sought) setOpen(true);
  }, [sought]);
  const summary = message.role === 'summary';
  return (
    <article className={cx('group/message rounded-xl border border-dashed border-line-strong bg-raised px-4 py-2 text-sm', message.marks.set_aside && 'opacity-50')} data-message={message.id}>
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)} className="flex w-full items-center gap-2 text-left text-soft">
        <ChevronRight size={14} aria-hidden className={cx('transition-transform', open && 'rotate-90')} />
        {summary ? `Summary of everything up to #${message.covers_through ?? '?'}; the model sees it instead` : 'System message'}
      </button>
      {open && (
        <div className="mt-2 space-y-3">
          <Markdown text={message.content.text ?? ''} complete />
          {summary && (covered ? <Covered id={message.id} /> : <Button onClick={() => setCovered(true)}>Show what it covers</Button>)}
          <Actions message={message} text={message.content.text ?? ''} shown />
        </div>
      )}
    </article>
  );
}

function Covered({ id }: { id: string }) {
  const covered = useQuery(coveredBy(id));
  if (covered.isPending) return <Loading what="what it covers" />;
  if (covered.isError) return <Failed error={covered.error} onRetry={() => void covered.refetch()} />;
  return (
    <ol className="max-h-96 space-y-2 overflow-y-auto border-l-2 border-line pl-3" tabIndex={0} aria-label="What the summary covers">
      {covered.data.data.map((message) => (
        <li key={message.id} className="whitespace-pre-wrap [overflow-wrap:anywhere]">
          <span className="text-xs text-faint">
            #{message.sequence} {message.tool_name ?? message.role}
          </span>
          <br />
          {message.role === 'tool_result' ? resultText(message.content) : (message.content.text ?? JSON.stringify(message.content.arguments))}
        </li>
      ))}
      {covered.data.next && <li className="text-faint">and more, in the inspector</li>}
    </ol>
  );
}
