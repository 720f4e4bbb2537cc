import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { request, sentence } from '../api/http';
import { resultText } from '../api/parts';
import { coveredBy, sessionOf } from '../api/queries';
import type { ID, Message } from '../api/types';
import { useOwns, useReader } from '../components/role';
import { Button, Failed, Loading, TextArea, Tooltip } from '../components/ui';
import { Cost } from '../context/cost';
import { fromOf, revises } from './covers';
import { summarise } from './summarising';

const LONGEST_SUMMARY = 262_144; // bytes; the server counts them

// Summary is what can be done with a summary: read what it covers, edit it, set it aside, have it written again.
export function Summary({ message, later }: { message: Message; later?: Message }) {
  const { id: session } = useParams({ from: '/c/$id' });
  const reader = useReader();
  const owns = useOwns(useQuery(sessionOf(session)).data?.owner_id ?? ''); // others may not write it
  const [covered, setCovered] = useState(false);
  const [edits, setEdits] = useState(false);
  const [error, setError] = useState('');
  const before = revises(message);
  const aside = message.marks.set_aside;
  const setAside = (set_aside: boolean) => {
    setError('');
    request(`/v1/messages/${message.id}/marks`, { method: 'PUT', query: { session }, body: { set_aside } }).catch((failure: unknown) => setError(sentence(failure)));
  };
  const seen = !aside && !later; // only that one can be edited
  if (edits) return <Edit message={message} session={session} onClose={() => setEdits(false)} />;
  return (
    <>
      {before && (
        <p className="text-xs text-soft">
          Edited by {message.author.name}.{' '}
          <Link to="/c/$id" params={{ id: session }} search={{ at: before }} className="text-accent underline underline-offset-2">
            Read the version before
          </Link>
        </p>
      )}
      <div className="flex flex-wrap gap-2">
        <Button aria-expanded={covered} onClick={() => setCovered(!covered)}>
          {covered ? 'Hide what it covers' : 'Show what it covers'}
        </Button>
        {!reader && owns && seen && <Button onClick={() => setEdits(true)}>Edit</Button>}
        {!reader && !later && (
          <Tooltip text={aside ? 'The model sees it instead of what it covers' : 'The model sees what it covers'} more={<Cost session={session} change={{ marks: [{ message_id: message.id, set_aside: !aside }] }} />}>
            <Button onClick={() => setAside(!aside)}>{aside ? 'Use it again' : 'Set aside'}</Button>
          </Tooltip>
        )}
        {!reader && seen && message.covers_through !== null && (
          <Button onClick={() => summarise(session, { replaces: { id: message.id, from: fromOf(message), through: message.covers_through! } })}>Write it again…</Button>
        )}
      </div>
      {error && (
        <p role="alert" className="text-bad">
          {error}
        </p>
      )}
      {covered && <Covered id={message.id} session={session} />}
    </>
  );
}

// Edit writes another version of a summary. The one before stays in the record.
function Edit({ message, session, onClose }: { message: Message; session: ID; onClose: () => void }) {
  const [text, setText] = useState(message.content.text ?? '');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  const save = () => {
    setBusy(true);
    setError('');
    request(`/v1/sessions/${session}/summary`, { body: { message_id: message.id, text } }).then(onClose, (failure: unknown) => {
      setError(sentence(failure));
      setBusy(false);
    });
  };
  return (
    <form
      className="space-y-2"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <TextArea aria-label="The summary" autoFocus rows={12} dir="auto" maxLength={LONGEST_SUMMARY} value={text} onChange={(event) => setText(event.target.value)} />
      <p className="text-xs text-soft">
        The model sees your version in place of this one, which stays readable.
        <Cost session={session} change={text.trim() !== '' && text !== message.content.text ? { summary: { message_id: message.id, text } } : null} className="min-h-8" />
      </p>
      {error && (
        <p role="alert" className="text-bad">
          {error}
        </p>
      )}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button look="primary" type="submit" disabled={busy || text.trim() === '' || text === message.content.text}>
          Save as a new version
        </Button>
      </div>
    </form>
  );
}

function Covered({ id, session }: { id: ID; session: ID }) {
  const covered = useInfiniteQuery(coveredBy(id));
  if (covered.isPending) return <Loading what="what it covers" />;
  if (covered.isError) return <Failed error={covered.error} onRetry={() => void covered.refetch()} />;
  return (
    <ol className="max-h-96 space-y-2 overflow-y-auto border-l-2 border-line pl-3" tabIndex={0} aria-label="What the summary covers">
      {covered.data.pages
        .flatMap((page) => page.data)
        .map((message) => (
          <li key={message.id} className="whitespace-pre-wrap [overflow-wrap:anywhere]">
            <Link to="/c/$id" params={{ id: session }} search={{ at: message.id }} className="text-xs text-accent hover:underline">
              #{message.sequence} {message.tool_name ?? message.role}
            </Link>
            <br />
            {message.role === 'tool_result' ? resultText(message.content) : (message.content.text ?? JSON.stringify(message.content.arguments))}
          </li>
        ))}
      {covered.hasNextPage && (
        <li>
          <Button disabled={covered.isFetchingNextPage} onClick={() => void covered.fetchNextPage()}>
            Show more
          </Button>
        </li>
      )}
    </ol>
  );
}
