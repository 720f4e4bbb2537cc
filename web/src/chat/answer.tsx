import { useState } from 'react';
import { request, sentence } from '../api/http';
import type { Message } from '../api/types';
import { useReader } from '../components/role';
import { Button, Input } from '../components/ui';
import { focusComposer } from './focus';
import type { Asked } from './tools';

// Answer answers an agent's question.
export function Answer({ question, call }: { question: Asked; call: Message }) {
  const [text, setText] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  const reader = useReader();
  const send = async (answer: string) => {
    if (answer.trim() === '') return;
    setBusy(true);
    setError('');
    try {
      await request(`/v1/sessions/${call.session_id}/messages`, {
        body: { role: 'tool_result', tool_call_id: call.tool_call_id, content: { result: answer, error: null, success: true, execution_time_ms: null } },
      });
      focusComposer();
    } catch (failure) {
      setError(sentence(failure));
      setBusy(false);
    }
  };
  if (reader) return <p className="rounded-lg border border-line bg-warn-soft p-3 font-medium">{question.question}</p>;
  return (
    <form
      className="space-y-2 rounded-lg border border-line bg-warn-soft p-3"
      onSubmit={(event) => {
        event.preventDefault();
        void send(text);
      }}
    >
      <p className="font-medium">{question.question}</p>
      {question.options.length > 0 && (
        <div className="flex flex-wrap gap-2">
          {question.options.map((option) => (
            <Button key={option} disabled={busy} onClick={() => void send(option)}>
              {option}
            </Button>
          ))}
        </div>
      )}
      <div className="flex gap-2">
        <Input aria-label="Your answer" value={text} onChange={(event) => setText(event.target.value)} placeholder="Your answer" />
        <Button look="primary" type="submit" disabled={busy || text.trim() === ''}>
          Answer
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
