import { useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { request, sentence } from '../api/http';
import { worded } from '../api/parts';
import type { Message, Session } from '../api/types';
import { Button, TextArea } from '../components/ui';
import { Cost } from '../context/cost';
import { writeOn } from './focus';

// EditBox edits a message in a new branch: the original stays.
export function EditBox({ message, onClose }: { message: Message; onClose: () => void }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { id } = useParams({ from: '/c/$id' });
  const [text, setText] = useState(message.content.text ?? '');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  const content = worded(message.content, text);
  const edited = text.trim() !== '' && text !== message.content.text;
  return (
    <form
      onKeyDown={(event) => event.key === 'Escape' && onClose()}
      className="space-y-2 rounded-2xl border border-accent bg-user p-3"
      onSubmit={(event) => {
        event.preventDefault();
        setBusy(true);
        request<Session>(`/v1/messages/${message.id}/edit`, { body: { session_id: id, content } }).then(
          (session) => {
            void queries.invalidateQueries({ queryKey: ['forks'] });
            void queries.invalidateQueries({ queryKey: ['versions'] });
            writeOn();
            void navigate({ to: '/c/$id', params: { id: session.id } });
          },
          (failure: unknown) => {
            setError(sentence(failure));
            setBusy(false);
          },
        );
      }}
    >
      <TextArea aria-label="Edited message" rows={Math.min(12, text.split('\n').length + 1)} value={text} onChange={(event) => setText(event.target.value)} autoFocus />
      <div className="flex items-center justify-end gap-2">
        <span className="mr-auto text-xs text-soft">
          This starts a new branch; the conversation stays as it is.
          <Cost session={id} change={edited ? { edit: { message_id: message.id, content } } : null} className="min-h-8" />
        </span>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="primary" type="submit" disabled={busy || !edited}>
          Ask
        </Button>
      </div>
      {error && (
        <p role="alert" className="text-sm text-bad">
          {error}
        </p>
      )}
    </form>
  );
}
