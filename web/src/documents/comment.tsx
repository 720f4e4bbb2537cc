import { useNavigate } from '@tanstack/react-router';
import { MessageSquareQuote } from 'lucide-react';
import { type RefObject, useEffect, useMemo, useRef, useState } from 'react';
import { request, sentence } from '../api/http';
import type { Artifact, ID, Message } from '../api/types';
import { Button, Dialog, Field, TextArea } from '../components/ui';
import { passage } from './words';

const LONGEST = 4_000; // characters of a quotation

// Comment sends what somebody says about a document, or about the passage that they selected in it, to the conversation
// that wrote it.
export function Comment({ document, version, session, text, within }: { document: Artifact; version: number; session: ID; text: string; within: RefObject<HTMLElement | null> }) {
  const navigate = useNavigate();
  const selected = useRef(''); // the dialog takes the selection away
  const [quoted, setQuoted] = useState<string | null>(null); // null: the dialog is closed
  const [said, setSaid] = useState('');
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const key = useMemo(() => `comment ${crypto.randomUUID()}`, [said, quoted]); // the same comment is sent once
  useEffect(() => {
    const onSelect = () => {
      const selection = getSelection();
      const here = selection?.anchorNode && within.current?.contains(selection.anchorNode) && within.current.contains(selection.focusNode);
      selected.current = here ? selection.toString().trim().slice(0, LONGEST) : '';
    };
    globalThis.document.addEventListener('selectionchange', onSelect);
    return () => globalThis.document.removeEventListener('selectionchange', onSelect);
  }, [within]);
  const send = () => {
    setBusy(true);
    setError('');
    const about = `About “${document.name}”, version ${version}${quoted ? passage(text, quoted) : ''}:`;
    const quotation = quoted ? `\n\n${quoted.split('\n').map((line) => `> ${line}`).join('\n')}` : '';
    request<Message>(`/v1/sessions/${session}/messages`, { key, body: { role: 'user', content: { text: `${about}${quotation}\n\n${said.trim()}` } } })
      .then(
        () => void navigate({ to: '/c/$id', params: { id: session } }),
        (failure: unknown) => setError(sentence(failure)),
      )
      .finally(() => setBusy(false));
  };
  return (
    <>
      <Button onPointerDown={(event) => event.preventDefault() /* keeps the selection */} onClick={() => setQuoted(selected.current)}>
        <MessageSquareQuote size={14} aria-hidden /> Comment
      </Button>
      <Dialog open={quoted !== null} onClose={() => setQuoted(null)} title="Comment on the document" about="It becomes a message in the conversation that wrote this document.">
        <form
          className="space-y-4"
          onSubmit={(event) => {
            event.preventDefault();
            send();
          }}
        >
          {quoted ? (
            <blockquote className="max-h-40 overflow-y-auto border-l-2 border-line-strong pl-3 text-sm whitespace-pre-wrap text-soft">{quoted}</blockquote>
          ) : (
            <p className="text-sm text-soft">Select a passage first to comment on that alone.</p>
          )}
          <Field label="Comment">
            <TextArea rows={4} value={said} onChange={(event) => setSaid(event.target.value)} />
          </Field>
          {error && (
            <p role="alert" className="text-sm text-bad">
              {error}
            </p>
          )}
          <div className="flex justify-end gap-2">
            <Button onClick={() => setQuoted(null)}>Cancel</Button>
            <Button look="primary" type="submit" disabled={busy || said.trim() === ''}>
              Send
            </Button>
          </div>
        </form>
      </Dialog>
    </>
  );
}
