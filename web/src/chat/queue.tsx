import { CornerDownRight, Trash2, Zap } from 'lucide-react';
import { useState } from 'react';
import { request, sentence } from '../api/http';
import { IconButton } from '../components/ui';
import type { Transcript } from '../live/transcript';

// Queue shows what waits to enter the conversation. It can still be changed.
export function Queue({ transcript }: { transcript: Transcript }) {
  const [error, setError] = useState('');
  if (transcript.queue.length === 0) return null;
  const act = (work: Promise<unknown>) => {
    setError('');
    work.catch((failure: unknown) => setError(sentence(failure)));
  };
  return (
    <section aria-label="Queued messages" className="mx-auto w-full max-w-3xl px-4 pb-2">
      <ul className="divide-y divide-line rounded-xl border border-line bg-raised text-sm">
        {transcript.queue.map(({ message }) => (
          <li key={message.id} className="flex items-center gap-2 py-1 pr-1 pl-3" data-queued={message.id}>
            <CornerDownRight size={14} aria-hidden className="shrink-0 text-faint" />
            <input
              aria-label="Queued message"
              defaultValue={message.content.text}
              className="h-8 min-w-0 flex-1 bg-transparent"
              onBlur={(event) => {
                const text = event.target.value;
                if (text !== message.content.text && text.trim() !== '') {
                  act(request(`/v1/messages/${message.id}`, { method: 'PATCH', body: { content: { ...message.content, text } } }));
                }
              }}
              onKeyDown={(event) => event.key === 'Enter' && event.currentTarget.blur()}
            />
            {message.steer && <span className="text-xs text-faint">at the next step</span>}
            {!message.steer && (
              <IconButton name="Send now, to the running turn" onClick={() => act(request(`/v1/messages/${message.id}/send`, { body: { how: 'steer' } }))}>
                <Zap size={14} />
              </IconButton>
            )}
            <IconButton name="Remove from the queue" onClick={() => act(request(`/v1/messages/${message.id}`, { method: 'DELETE' }))}>
              <Trash2 size={14} />
            </IconButton>
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
