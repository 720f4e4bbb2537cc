import { Brain, ChevronRight, FileText, RotateCcw } from 'lucide-react';
import { memo, useState, useSyncExternalStore } from 'react';
import { request, sentence } from '../api/http';
import type { Message } from '../api/types';
import { fullTime } from '../components/format';
import { Badge, Button, cx } from '../components/ui';
import type { LiveMessage } from '../live/message';
import { Markdown } from '../markdown/markdown';
import { Actions } from './actions';
import { EditBox } from './edit';
import { NoteRow } from './note';

interface Props {
  live: LiveMessage;
  ends: boolean; // the last message of its turn
  latest: boolean; // of the conversation
  sought?: boolean; // opened, if it is folded
}

export const MessageRow = memo(function MessageRow({ live, ends, latest, sought }: Props) {
  useSyncExternalStore(live.subscribe, live.snapshot);
  const { message } = live;
  switch (message.role) {
    case 'user':
      return <UserRow message={message} />;
    case 'assistant':
      return <AssistantRow live={live} ends={ends} latest={latest} />;
    default:
      return <NoteRow message={message} sought={sought} />;
  }
});

function UserRow({ message }: { message: Message }) {
  const { text, files, links } = message.content;
  const [editing, setEditing] = useState(false);
  if (editing) return <EditBox message={message} onClose={() => setEditing(false)} />;
  return (
    <article className="group/message flex flex-col items-end" aria-label={`Message from ${message.author.name}`} data-message={message.id}>
      {message.author.kind !== 'person' && <p className="mb-1 text-xs text-faint">{message.author.name}</p>}
      <div className={cx('max-w-[85%] rounded-2xl bg-user px-4 py-2.5 whitespace-pre-wrap [overflow-wrap:anywhere]', message.marks.set_aside && 'opacity-50')}>
        {text}
        {links?.map((link) => (
          <a key={link} href={/^https?:/i.test(link) ? link : undefined} target="_blank" rel="noopener noreferrer nofollow" className="mt-1 block text-sm text-accent underline">
            {link}
          </a>
        ))}
        {files && files.length > 0 && <Files ids={files} />}
      </div>
      <Actions message={message} text={text} onEdit={() => setEditing(true)} />
    </article>
  );
}

function Files({ ids }: { ids: string[] }) {
  return (
    <ul className="mt-2 flex flex-wrap gap-2" aria-label="Files">
      {ids.map((id) => (
        <li key={id}>
          <a href={`/v1/files/${id}/content`} className="flex items-center gap-1.5 rounded-lg border border-line bg-bg px-2 py-1 text-xs text-soft hover:text-text">
            <FileText size={13} aria-hidden /> file {id.slice(-6)}
          </a>
        </li>
      ))}
    </ul>
  );
}

function AssistantRow({ live, ends, latest }: Props) {
  const { message } = live;
  const text = live.text('text');
  const reasoning = live.text('reasoning');
  return (
    <article className={cx('group/message', message.marks.set_aside && 'opacity-50')} aria-label={`Answer from ${message.author.name || 'the agent'}`} aria-busy={live.streaming} data-message={message.id}>
      {reasoning && <Reasoning text={reasoning} open={live.streaming && !text} complete={!live.streaming || text !== ''} />}
      {text && <Markdown text={text} complete={!live.streaming} drew={(took) => live.drew(took)} />}
      {message.content.refusal && <p className="text-warn">The model declined: {message.content.refusal}</p>}
      {message.status === 'cancelled' && (
        <p className="mt-2">
          <Badge>stopped</Badge>
        </p>
      )}
      {message.error && <ErrorCard message={message} latest={latest} />}
      {!live.streaming && <Actions message={message} text={text} facts={ends} shown={latest} />}
    </article>
  );
}

function Reasoning({ text, open, complete }: { text: string; open: boolean; complete: boolean }) {
  const [chosen, setChosen] = useState<boolean | null>(null);
  const shown = chosen ?? open;
  return (
    <div className="mb-3 text-sm">
      <button type="button" aria-expanded={shown} onClick={() => setChosen(!shown)} className="flex items-center gap-1.5 rounded text-soft hover:text-text">
        <ChevronRight size={14} aria-hidden className={cx('transition-transform', shown && 'rotate-90')} />
        <Brain size={14} aria-hidden /> {complete ? 'Thought' : 'Thinking'}
      </button>
      {shown && (
        <div className="mt-2 ml-1.5 border-l-2 border-line pl-4 text-soft">
          <Markdown text={text} complete={complete} />
        </div>
      )}
    </div>
  );
}

// ErrorCard says what went wrong, and offers to try the turn again.
function ErrorCard({ message, latest }: { message: Message; latest: boolean }) {
  const [busy, setBusy] = useState(false);
  const [said, setSaid] = useState('');
  const failure = message.error!;
  const again = () => {
    setBusy(true);
    request(`/v1/turns/${message.turn_id}/retry`, { method: 'POST', body: {} }).catch((error: unknown) => {
      setSaid(sentence(error));
      setBusy(false);
    });
  };
  return (
    <div role="alert" className="mt-3 rounded-xl border border-line bg-bad-soft p-3 text-sm">
      <p className="font-medium text-bad">{failure.sentence}</p>
      {failure.detail && <p className="mt-1 font-mono text-xs break-words text-soft">{failure.detail}</p>}
      <div className="mt-2 flex flex-wrap items-center gap-2">
        <Badge tone="bad">{failure.class.replaceAll('_', ' ')}</Badge>
        {(failure.attempts ?? 0) > 1 && <Badge>{failure.attempts} attempts</Badge>}
        {failure.retry_at && <span className="text-xs text-soft">The provider says: again {fullTime(failure.retry_at)}</span>}
        {latest && message.turn_id && (
          <Button disabled={busy} onClick={again}>
            <RotateCcw size={13} aria-hidden /> Try again
          </Button>
        )}
      </div>
      {said && <p className="mt-2 text-soft">{said}</p>}
    </div>
  );
}
