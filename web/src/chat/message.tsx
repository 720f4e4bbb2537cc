import { useNavigate } from '@tanstack/react-router';
import { Bookmark, BookmarkCheck, Brain, ChevronRight, Copy, Eye, EyeOff, FileText, RotateCcw, ScanSearch } from 'lucide-react';
import { memo, useState, useSyncExternalStore } from 'react';
import { request, sentence } from '../api/http';
import type { Marks, Message } from '../api/types';
import { compact, duration, fullTime, money } from '../components/format';
import { Badge, Button, cx, IconButton } from '../components/ui';
import type { LiveMessage } from '../live/message';
import { Markdown } from '../markdown/markdown';

interface Props {
  live: LiveMessage;
  ends: boolean; // the last message of its turn
  latest: boolean; // of the conversation
}

export const MessageRow = memo(function MessageRow({ live, ends, latest }: Props) {
  useSyncExternalStore(live.subscribe, live.snapshot);
  const { message } = live;
  switch (message.role) {
    case 'user':
      return <UserRow message={message} />;
    case 'assistant':
      return <AssistantRow live={live} ends={ends} latest={latest} />;
    default:
      return <NoteRow message={message} />;
  }
});

function UserRow({ message }: { message: Message }) {
  const { text, files, links } = message.content;
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
      <Actions message={message} text={text} />
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

// Actions are what can be done with a message; they take their room always, and
// show when the message is pointed at or holds the focus.
function Actions({ message, text, facts, shown }: { message: Message; text: string; facts?: boolean; shown?: boolean }) {
  const navigate = useNavigate();
  const [copied, setCopied] = useState(false);
  const mark = (marks: Partial<Marks>) => void request(`/v1/messages/${message.id}/marks`, { method: 'PATCH', body: marks }).catch(() => undefined);
  return (
    <div
      className={cx(
        'mt-1 -ml-2 flex min-h-8 flex-wrap items-center gap-0.5 text-faint transition-opacity group-focus-within/message:opacity-100 group-hover/message:opacity-100 max-md:opacity-100',
        !shown && 'opacity-0',
      )}
    >
      <IconButton
        name={copied ? 'Copied' : 'Copy'}
        onClick={() => {
          void navigator.clipboard.writeText(text).then(() => {
            setCopied(true);
            setTimeout(() => setCopied(false), 1_500);
          });
        }}
      >
        <Copy size={14} />
      </IconButton>
      <IconButton name={message.marks.pinned ? 'Unpin from the context' : 'Pin to the context'} onClick={() => mark({ pinned: !message.marks.pinned })}>
        {message.marks.pinned ? <BookmarkCheck size={14} className="text-accent" /> : <Bookmark size={14} />}
      </IconButton>
      <IconButton name={message.marks.set_aside ? 'Show to the model again' : 'Set aside: the model does not see it'} onClick={() => mark({ set_aside: !message.marks.set_aside })}>
        {message.marks.set_aside ? <EyeOff size={14} className="text-warn" /> : <Eye size={14} />}
      </IconButton>
      <IconButton
        name="Inspect"
        onClick={() => void navigate({ to: '/c/$id/inspect', params: { id: message.session_id }, search: { row: message.id } })}
      >
        <ScanSearch size={14} />
      </IconButton>
      {facts && <Facts message={message} />}
    </div>
  );
}

function Facts({ message }: { message: Message }) {
  const { usage, metadata } = message;
  const cached = usage?.cached_tokens ?? 0;
  return (
    <span className="ml-2 flex flex-wrap items-center gap-2 text-xs">
      {message.model && <span>{message.model}</span>}
      {message.model?.startsWith('sim/') && <Badge tone="warn">simulator</Badge>}
      {usage && (
        <span title="Tokens in and out">
          {compact(usage.input_tokens ?? 0)} in · {compact(usage.output_tokens ?? 0)} out
        </span>
      )}
      {cached > 0 && <Badge tone="good">{Math.round((100 * cached) / Math.max(1, usage?.input_tokens ?? 1))} % cached</Badge>}
      {typeof metadata.cost === 'number' && <span>{money(metadata.cost)}</span>}
      {typeof metadata.total_ms === 'number' && <span>{duration(metadata.total_ms)}</span>}
    </span>
  );
}

// NoteRow shows summaries and imported system messages.
function NoteRow({ message }: { message: Message }) {
  const [open, setOpen] = useState(false);
  const name = message.role === 'summary' ? `Summary of everything up to #${message.covers_through ?? '?'}` : 'System message';
  return (
    <article className="rounded-xl border border-dashed border-line-strong bg-raised px-4 py-2 text-sm" data-message={message.id}>
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)} className="flex w-full items-center gap-2 text-left text-soft">
        <ChevronRight size={14} aria-hidden className={cx('transition-transform', open && 'rotate-90')} /> {name}
      </button>
      {open && (
        <div className="mt-2">
          <Markdown text={message.content.text} complete />
        </div>
      )}
    </article>
  );
}
