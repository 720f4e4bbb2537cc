import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { Brain, ChevronRight } from 'lucide-react';
import { memo, Suspense, useEffect, useState, useSyncExternalStore } from 'react';
import { flushSync } from 'react-dom';
import { principal } from '../api/queries';
import type { Message } from '../api/types';
import { fullTime, number, time } from '../components/format';
import { Badge, cx } from '../components/ui';
import { part } from '../live/arrive';
import type { LiveMessage } from '../live/message';
import { isJson } from '../components/json';
import { Markdown } from '../markdown/markdown';
import { Actions } from './actions';
import { coarse } from './coarse';
import { CutOff } from './cutoff';
import { Files } from './files';
import { NoteRow } from './note';
import { VersionSwitch } from './versions';

const ErrorCard = part(() => import('./failure'), 'ErrorCard');
const EditBox = part(() => import('./edit'), 'EditBox');
const Structured = part(() => import('./structured'), 'Structured');

interface Props {
  live: LiveMessage;
  ends: boolean; // the last message of its turn
  latest: boolean; // of the conversation
  sought?: boolean; // unfolded
  question?: number; // the sequence of what it answers, and the message before that
  before?: string | null;
  later?: Message; // the summary that replaces this one
}

const LONG = 3_000; // longer messages are clipped, in characters
const CLIP = 1_200; // characters of a clipped message

// closed returns the focus to the button that opened the edit.
function closed(id: string, close: () => void): void {
  flushSync(close);
  document.querySelector<HTMLElement>(`[data-message="${id}"] button[aria-label^="Edit"]`)?.focus();
}

const marked = (message: Message) => message.marks.pinned || message.marks.set_aside;

export const MessageRow = memo(function MessageRow({ live, ends, latest, sought, question, before, later }: Props) {
  useSyncExternalStore(live.subscribe, live.snapshot);
  const { message } = live;
  const row =
    message.role === 'user' ? (
      <UserRow message={message} sought={sought} />
    ) : message.role === 'assistant' ? (
      <AssistantRow live={live} ends={ends} latest={latest} question={question} before={before} />
    ) : (
      <NoteRow message={message} sought={sought} later={later} />
    );
  return message.marks.context_edge ? (
    <>
      <ContextEdge />
      {row}
    </>
  ) : (
    row
  );
});

// ContextEdge marks where the model's context begins.
export function ContextEdge() {
  return (
    <p className="my-4 flex items-center gap-3 text-xs text-faint before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line" data-edge>
      Context cleared: the model sees nothing above
    </p>
  );
}

function UserRow({ message, sought }: { message: Message; sought?: boolean }) {
  const { text = '', files, links } = message.content;
  const { data: me } = useQuery(principal());
  const [editing, setEditing] = useState(false);
  const [whole, setWhole] = useState(text.length <= LONG);
  const [tapped, setTapped] = useState(false);
  useEffect(() => {
    if (sought) setWhole(true);
  }, [sought]);
  if (editing)
    return (
      <Suspense fallback={null}>
        <EditBox message={message} onClose={() => closed(message.id, () => setEditing(false))} />
      </Suspense>
    );
  return (
    <article onClick={() => setTapped(!tapped)} className="group/message relative mt-4 mb-3 flex flex-col items-end" aria-label={`Message from ${message.author.name}`} data-message={message.id}>
      {(message.author.kind !== 'person' || (me && message.author.id !== me.id)) && <p className="mb-1 text-xs text-faint">{message.author.name}</p>}
      <div dir="auto" data-bubble className={cx('max-w-[85%] rounded-2xl bg-user px-4 py-2.5 whitespace-pre-wrap [overflow-wrap:anywhere]', message.marks.set_aside && 'opacity-50')}>
        {whole ? text : `${text.slice(0, CLIP)}…`}
        {!whole && (
          <button type="button" className="mt-1 block text-sm text-accent underline" onClick={() => setWhole(true)}>
            Show all {number(text.length)} characters
          </button>
        )}
        {links?.map((link) => (
          <a key={link} href={/^https?:/i.test(link) ? link : undefined} target="_blank" rel="noopener noreferrer nofollow" className="mt-1 block text-sm text-accent underline">
            {link}
          </a>
        ))}
        {files && files.length > 0 && <Files ids={files} />}
      </div>
      <time dateTime={message.created_at} title={fullTime(message.created_at)} className="mt-1 text-xs text-faint">
        {time(message.created_at)}
      </time>
      <Actions message={message} text={text} floats={!marked(message)} shown={marked(message) || (tapped && coarse())} onEdit={() => setEditing(true)} />
    </article>
  );
}

function AssistantRow({ live, ends, latest, question, before = null }: Props) {
  const { message } = live;
  const text = live.text('text');
  const reasoning = live.text('reasoning');
  const object = live.streaming ? live.object : isJson(message.content.object) && message.content.object;
  const { id: session } = useParams({ from: '/c/$id' });
  const [tapped, setTapped] = useState(false);
  const last = latest && message.session_id === session; // a fork cannot retry a shared turn
  return (
    <article onClick={() => setTapped(!tapped)} className={cx('group/message relative', message.marks.set_aside && 'opacity-50')} aria-label={`Answer from ${message.author.name || 'the agent'}`} aria-busy={live.streaming} data-message={message.id}>
      {reasoning && <Reasoning text={reasoning} open={live.streaming && !text} complete={!live.streaming || text !== ''} />}
      {object ? (
        <Suspense fallback={<Markdown text={text} complete />}>
          <Structured object={object} text={text} complete={!live.streaming} />
        </Suspense>
      ) : (
        text && <Markdown text={text} complete={!live.streaming} drew={(took) => live.drew(took)} />
      )}
      {message.content.refusal && <p className="text-warn">The model declined: {message.content.refusal}</p>}
      {message.status === 'cancelled' && (
        <p className="mt-2">
          <Badge>stopped</Badge>
        </p>
      )}
      {message.error && (
        <Suspense fallback={null}>
          <ErrorCard failure={message.error} turn={last ? message.turn_id : null} session={session} interrupted={message.error.class === 'interrupted' ? message : undefined} />
        </Suspense>
      )}
      {latest && message.metadata.finish === 'length' && <CutOff session={session} />}
      {!live.streaming && question !== undefined && <VersionSwitch place={{ session, question, before }} />}
      {!live.streaming && <Actions message={message} text={text} facts={ends} floats={!ends} shown={latest || marked(message) || (tapped && coarse())} />}
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
