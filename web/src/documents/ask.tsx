import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { MessageSquareQuote } from 'lucide-react';
import { useMemo, useState } from 'react';
import { request, sentence } from '../api/http';
import { sessionList, sessionOf } from '../api/queries';
import type { Artifact, ID, Message } from '../api/types';
import { titleOf } from '../components/title';
import { Button, Dialog, Field, Select, TextArea } from '../components/ui';
import { aboutOf, type Passage } from './words';

interface Props {
  document: Artifact;
  version: number;
  session: ID | null; // the conversation that wrote it, or the one beside it
  passage: Passage | null; // what is selected
  onSent: (session: ID) => void;
}

// Ask sends what somebody wants changed in a document, or in the passage that they selected in it, to a conversation: by
// itself the one that wrote the document.
export function Ask(props: Props) {
  const [quoted, setQuoted] = useState<Passage | null>(null); // the dialog takes the selection away
  const [open, setOpen] = useState(false);
  const { passage } = props;
  return (
    <>
      <Button
        onPointerDown={(event) => event.preventDefault() /* keeps the selection */}
        onClick={() => {
          setQuoted(passage);
          setOpen(true);
        }}
      >
        <MessageSquareQuote size={14} aria-hidden /> {passage ? 'Ask the agent to change this' : 'Comment'}
      </Button>
      <Dialog open={open} onClose={() => setOpen(false)} title="Ask the agent to change this" about="It becomes a message in the conversation.">
        {open && <Question {...props} passage={quoted} onClose={() => setOpen(false)} />}
      </Dialog>
    </>
  );
}

function Question({ document, version, session, passage, onSent, onClose }: Props & { onClose: () => void }) {
  const writer = useQuery({ ...sessionOf(session ?? ''), enabled: session !== null });
  const recent = useInfiniteQuery(sessionList({}));
  const [chosen, setChosen] = useState<ID | null>(null);
  const [said, setSaid] = useState('');
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const others = (recent.data?.pages.flatMap((page) => page.data) ?? []).filter((one) => one.id !== session);
  const to = chosen ?? session ?? '';
  const key = useMemo(() => `comment ${crypto.randomUUID()}`, [said, passage, to]); // the same comment is sent once
  const send = () => {
    setBusy(true);
    setError('');
    const quotation = passage ? `\n\n${passage.text.split('\n').map((line) => `> ${line}`).join('\n')}` : '';
    const about = { artifact_id: document.id, version, lines: passage?.lines ?? null, pointer: passage?.pointer ?? null };
    request<Message>(`/v1/sessions/${to}/messages`, { key, body: { role: 'user', content: { text: `${aboutOf(document, version, passage)}${quotation}\n\n${said.trim()}` }, metadata: { about } } })
      .then(
        () => {
          onClose();
          onSent(to);
        },
        (failure: unknown) => setError(sentence(failure)),
      )
      .finally(() => setBusy(false));
  };
  return (
    <form
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {passage ? (
        <blockquote className="max-h-40 overflow-y-auto border-l-2 border-line-strong pl-3 text-sm [overflow-wrap:anywhere] whitespace-pre-wrap text-soft">{passage.text}</blockquote>
      ) : (
        <p className="text-sm text-soft">Select a passage, or a part of a tree, to ask about that alone.</p>
      )}
      <Field label="What should change?">
        <TextArea rows={4} value={said} onChange={(event) => setSaid(event.target.value)} />
      </Field>
      <Field label="Conversation">
        <Select value={to} onChange={(event) => setChosen(event.target.value)}>
          {to === '' && <option value="">Choose one</option>}
          {session && <option value={session}>{writer.data ? titleOf(writer.data) : 'The one that wrote it'}</option>}
          {others.map((one) => (
            <option key={one.id} value={one.id}>
              {titleOf(one)}
            </option>
          ))}
        </Select>
      </Field>
      {error && (
        <p role="alert" className="text-sm text-bad">
          {error}
        </p>
      )}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button look="primary" type="submit" disabled={busy || said.trim() === '' || to === ''}>
          Send
        </Button>
      </div>
    </form>
  );
}
