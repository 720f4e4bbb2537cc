import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { BellRing, CircleHelp, FileText, MailOpen, MessagesSquare, Route, ShieldQuestion } from 'lucide-react';
import { type FormEvent, type ReactNode, useEffect, useId, useMemo, useState } from 'react';
import { request, sentence } from '../api/http';
import type { Approval, ID, InboxItem, Message } from '../api/types';
import { ApprovalCard } from '../chat/approval';
import { fullTime, time } from '../components/format';
import { useReader } from '../components/role';
import { plainTitle } from '../components/title';
import { Badge, Button, cx, Failed, Loading, TextArea } from '../components/ui';
import { Markdown } from '../markdown/markdown';
import { Checked } from '../markdown/source';
import { Arguments } from './arguments';
import { approvalOf, messageOf } from './queries';

export const TYPES: Record<InboxItem['type'], string> = { briefing: 'Briefing', question: 'Question', approval: 'Approval', alert: 'Alert' };

const ICONS: Record<InboxItem['type'], ReactNode> = {
  briefing: <FileText size={16} />,
  question: <CircleHelp size={16} />,
  approval: <ShieldQuestion size={16} />,
  alert: <BellRing size={16} />,
};

// stateOf is what has become of an item that asks for something, or of an alert; null says nothing about it.
export function stateOf(item: Pick<InboxItem, 'type' | 'answered_at' | 'closed_at'>): { name: string; tone: 'plain' | 'good' | 'warn' | 'bad' } | null {
  if (item.type === 'alert') return { name: 'Alert', tone: 'bad' };
  if (item.type === 'briefing') return null;
  if (item.answered_at) return { name: 'Answered', tone: 'good' };
  if (item.closed_at) return { name: 'Closed', tone: 'plain' };
  return { name: 'Waits for you', tone: 'warn' };
}

interface Props {
  item: InboxItem;
  agent: string; // its name
  open: boolean;
  onToggle: () => void;
}

// Item is a row of the inbox: its title and summary, and once it is open its whole text and what can be done.
export function Item({ item, agent, open, onToggle }: Props) {
  const body = useId();
  const state = stateOf(item);
  const unread = item.read_at === null;
  return (
    <li data-item={item.id} data-unread={unread || undefined} className="rounded-2xl border border-line">
      <h2>
        <button type="button" aria-expanded={open} aria-controls={open ? body : undefined} onClick={onToggle} className="flex w-full items-start gap-3 rounded-2xl p-4 text-left hover:bg-raised">
          <span role="img" aria-label={TYPES[item.type]} title={TYPES[item.type]} className={cx('mt-0.5 shrink-0', unread ? 'text-accent' : 'text-faint')}>
            {ICONS[item.type]}
          </span>
          <span className="min-w-0 flex-1">
            <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
              <span dir="auto" className={cx('min-w-0 break-words', unread ? 'font-semibold' : 'text-soft')}>
                {plainTitle(item.title) || TYPES[item.type]}
              </span>
              {unread && <Badge tone="accent">New</Badge>}
              {state && <Badge tone={state.tone}>{state.name}</Badge>}
            </span>
            {item.summary && (
              <span dir="auto" className={cx('mt-1 text-sm font-normal text-soft', open ? 'block' : 'line-clamp-2')}>
                {plainTitle(item.summary)}
              </span>
            )}
            <span className="mt-1 block text-xs font-normal text-faint">
              {agent} · <time dateTime={item.created_at}>{open ? fullTime(item.created_at) : time(item.created_at)}</time>
            </span>
          </span>
        </button>
      </h2>
      {open && (
        <div id={body} className="space-y-4 border-t border-line p-4">
          <Body item={item} onUnread={onToggle} />
        </div>
      )}
    </li>
  );
}

function Body({ item, onUnread }: { item: InboxItem; onUnread: () => void }) {
  const queries = useQueryClient();
  const reader = useReader();
  const mark = (read: boolean) =>
    request(`/v1/inbox/${item.id}`, { method: 'PATCH', body: { read } }).then(
      () => void queries.invalidateQueries({ queryKey: ['inbox'] }),
      () => {}, // it stays as it is, and is marked when it is opened again
    );
  useEffect(() => {
    if (item.read_at === null) void mark(true);
    // oxlint-disable-next-line exhaustive-deps -- once, when it is opened
  }, []);
  const apart = item.session_id !== item.source_session_id; // a conversation with the person, not the work itself
  return (
    <>
      {item.approval_id ? <Asked id={item.approval_id} /> : item.message_id && <Text id={item.message_id} item={item} />}
      {item.type === 'question' && !item.answered_at && !item.closed_at && !reader && <Reply item={item} />}
      {item.answered_at && <p className="text-sm text-soft">Answered {fullTime(item.answered_at)}.</p>}
      {item.closed_at && !item.answered_at && <p className="text-sm text-soft">Closed without an answer {fullTime(item.closed_at)}.</p>}
      <p className="flex flex-wrap items-center gap-x-4 gap-y-2 text-sm">
        <Way session={item.source_session_id} message={item.source_message_id} icon={<Route size={14} />}>
          See the work behind it
        </Way>
        {apart && (
          <Way session={item.session_id} message={item.message_id} icon={<MessagesSquare size={14} />}>
            Open the conversation
          </Way>
        )}
        <Button look="quiet" className="ml-auto" onClick={() => void mark(false).then(onUnread)}>
          <MailOpen size={14} aria-hidden /> Mark as unread
        </Button>
      </p>
    </>
  );
}

function Way({ session, message, icon, children }: { session: ID | null; message: ID | null; icon: ReactNode; children: string }) {
  if (!session) return null;
  return (
    <Link to="/c/$id" params={{ id: session }} search={message ? { at: message } : {}} className="inline-flex items-center gap-1.5 text-accent underline underline-offset-2">
      <span aria-hidden>{icon}</span>
      {children}
    </Link>
  );
}

// saidIn is the text of a message; several texts are separated by empty lines.
function saidIn({ content }: Message): string {
  return content.text ?? content.parts?.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n') ?? '';
}

function Text({ id, item }: { id: ID; item: InboxItem }) {
  const message = useQuery(messageOf(id));
  const checked = useMemo(() => new Set(item.citations.map((one) => `${one.session_id}:${one.sequence}`)), [item.citations]);
  if (message.isPending) return <Loading what="the text" />;
  if (message.isError) return <Failed error={message.error} onRetry={() => void message.refetch()} />;
  return (
    <Checked value={checked}>
      <Markdown text={saidIn(message.data)} complete />
    </Checked>
  );
}

function Asked({ id }: { id: ID }) {
  const approval = useQuery(approvalOf(id));
  if (approval.isPending) return <Loading what="the call" />;
  if (approval.isError) return <Failed error={approval.error} onRetry={() => void approval.refetch()} />;
  const { data } = approval;
  return (
    <>
      <Arguments approval={data} />
      {data.state === 'pending' ? (
        <ApprovalCard approval={data} />
      ) : (
        <p className="text-sm">
          <span className="font-mono text-xs">{data.tool_name}</span> was {outcomeOf(data)}.
        </p>
      )}
    </>
  );
}

// outcomeOf says what became of an approval, or of a tool's question.
function outcomeOf({ question, state, decided_by }: Approval): string {
  if (!question) return state;
  if (state === 'approved') return 'answered';
  return state === 'expired' && decided_by ? 'dismissed' : state === 'denied' ? 'declined' : state;
}

function Reply({ item }: { item: InboxItem }) {
  const queries = useQueryClient();
  const [text, setText] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  const send = (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError('');
    request(`/v1/inbox/${item.id}/answer`, { body: { text } })
      .then(
        () => void queries.invalidateQueries({ queryKey: ['inbox'] }),
        (failure: unknown) => setError(sentence(failure)),
      )
      .finally(() => setBusy(false));
  };
  return (
    <form onSubmit={send} className="space-y-2 rounded-lg border border-line bg-warn-soft p-3">
      <TextArea rows={3} aria-label="Your answer" value={text} onChange={(event) => setText(event.target.value)} placeholder="Your answer; the agent goes on with it" />
      <div className="flex items-center justify-end gap-3">
        {error && (
          <p role="alert" className="flex-1 text-sm text-bad">
            {error}
          </p>
        )}
        <Button look="primary" type="submit" disabled={busy || text.trim() === ''}>
          Answer
        </Button>
      </div>
    </form>
  );
}
