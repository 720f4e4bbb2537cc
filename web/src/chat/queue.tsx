import { ArrowUp, CornerDownRight, Paperclip, Pause, Trash2, Zap } from 'lucide-react';
import { useState } from 'react';
import { request, sentence } from '../api/http';
import { worded } from '../api/parts';
import type { Message } from '../api/types';
import { useReader, useMine } from '../components/role';
import { Button, cx, IconButton } from '../components/ui';
import { outbox, useOutbox } from '../live/outbox';
import type { Transcript } from '../live/transcript';

// Queue shows messages that wait to enter the conversation and can still be changed.
export function Queue({ transcript }: { transcript: Transcript }) {
  const [error, setError] = useState('');
  const reader = useReader();
  const mine = useMine();
  const waiting = transcript.queue.map(({ message }) => message);
  const held = useOutbox().filter((one) => one.hold && one.session === transcript.id);
  if (waiting.length === 0 && held.length === 0) return null;
  const act = (work: Promise<unknown>) => {
    setError('');
    work.catch((failure: unknown) => setError(sentence(failure)));
  };
  return (
    <section aria-label="Queued messages" className="mx-auto w-full max-w-3xl px-4 pb-2">
      {held.length > 0 && (
        <div className="mb-2 rounded-xl border border-line bg-warn-soft p-2 text-sm" data-held>
          <p role="status" className="px-1 text-warn">
            You stopped the turn, so what waited behind it is held. Nothing of it is sent until you say so.
          </p>
          <ul className="mt-1 max-h-[20dvh] overflow-y-auto">
            {held.map((one) => (
              <li key={one.key} className="flex items-start gap-2 py-0.5 pl-1">
                <Pause size={14} aria-hidden className="mt-2 shrink-0 text-faint" />
                <span dir="auto" className="min-w-0 flex-1 py-1 whitespace-pre-wrap [overflow-wrap:anywhere]">
                  {one.text || 'Files'}
                </span>
                <Button onClick={() => outbox.release(one.key)}>Send</Button>
                <IconButton name="Discard the held message" onClick={() => outbox.take(one.key)}>
                  <Trash2 size={14} />
                </IconButton>
              </li>
            ))}
          </ul>
        </div>
      )}
      <ul className={cx(waiting.length === 0 && 'hidden', 'max-h-[30dvh] divide-y divide-line overflow-y-auto rounded-xl border border-line bg-raised text-sm')}>
        {waiting.map((message, i) => (
          <li key={message.id} className="flex items-start gap-2 py-1 pr-1 pl-3" data-queued={message.id}>
            <CornerDownRight size={14} aria-hidden className="mt-2.5 shrink-0 text-faint" />
            <Words message={message} readOnly={reader || !mine(message.author.id)} onChange={(text) => act(request(`/v1/messages/${message.id}`, { method: 'PATCH', body: { content: worded(message.content, text) } }))} />
            {!!message.content.files?.length && (
              <span className="mt-2 flex shrink-0 items-center gap-1 text-xs text-faint">
                <Paperclip size={12} aria-label="Files" /> {message.content.files.length}
              </span>
            )}
            {message.steer && <span className="mt-2 shrink-0 text-xs text-faint">at the next step</span>}
            {!reader && !message.steer && i > 0 && !waiting[i - 1]!.steer && (
              <IconButton name="Move up" onClick={() => act(request(`/v1/messages/${message.id}/move`, { body: { before: waiting[i - 1]!.id } }))}>
                <ArrowUp size={14} />
              </IconButton>
            )}
            {!reader && !message.steer && (
              <IconButton name="Send now, to the running turn" onClick={() => act(request(`/v1/messages/${message.id}/send`, { body: { how: 'steer' } }))}>
                <Zap size={14} />
              </IconButton>
            )}
            {!reader && (
              <IconButton name="Remove from the queue" onClick={() => act(request(`/v1/messages/${message.id}`, { method: 'DELETE' }))}>
                <Trash2 size={14} />
              </IconButton>
            )}
          </li>
        ))}
      </ul>
      {error && (
        <p role="alert" className="mt-1 text-sm text-bad">
          {error}
        </p>
      )}
    </section>
  );
}

// Words is the text of a queued message: Enter saves it, Escape restores it.
function Words({ message, readOnly, onChange }: { message: Message; readOnly: boolean; onChange: (text: string) => void }) {
  const was = message.content.text ?? '';
  return (
    <textarea
      key={was}
      aria-label="Queued message"
      rows={1}
      readOnly={readOnly}
      defaultValue={was}
      className="field-sizing-content max-h-32 min-h-8 min-w-0 flex-1 resize-none bg-transparent py-1.5"
      onBlur={(event) => {
        const text = event.target.value;
        if (text !== was && text.trim() !== '') onChange(text);
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') event.currentTarget.value = was;
        if (event.key === 'Escape' || (event.key === 'Enter' && !event.shiftKey)) {
          event.preventDefault();
          event.currentTarget.blur();
        }
      }}
    />
  );
}
