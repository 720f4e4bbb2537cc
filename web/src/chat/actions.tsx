import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { Bookmark, BookmarkCheck, Copy, Eye, EyeOff, GitBranch, GitFork, Pencil, RefreshCw, ScanSearch } from 'lucide-react';
import { useState } from 'react';
import { request, sentence } from '../api/http';
import { branchesOf } from '../api/queries';
import type { ID, Marks, Message, Session } from '../api/types';
import { copyText } from '../components/clipboard';
import { compact, duration, fullTime, money, time } from '../components/format';
import { useReader } from '../components/role';
import { titleOf } from '../components/title';
import { Badge, cx, IconButton, Menu } from '../components/ui';
import { Cost } from '../context/cost';
import { writeOn } from './focus';

interface Props {
  message: Message;
  text: string;
  facts?: boolean; // also shows tokens, time and cost
  shown?: boolean; // always, not only on hover
  floats?: boolean; // over the message: inside a turn there is no room below it
  onEdit?: () => void;
}

// Actions are the buttons of a message. They always take up space, but show only while
// the message is hovered or has the focus, or on touch screens after a tap.
export function Actions({ message, text, facts, shown, floats, onEdit }: Props) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { id: session } = useParams({ from: '/c/$id' }); // a fork shows messages that another conversation wrote
  const [copied, setCopied] = useState(false);
  const [error, setError] = useState('');
  const reader = useReader();
  const told = (failure: unknown) => setError(sentence(failure));
  const mark = (marks: Partial<Marks>) => void request(`/v1/messages/${message.id}/marks`, { method: 'PUT', query: { session }, body: marks }).catch(told);
  const cost = (marks: Partial<Marks>) => <Cost session={session} change={{ marks: [{ message_id: message.id, ...marks }] }} />;
  const branch = (asked: Promise<Session>) => void asked.then((made) => {
      void queries.invalidateQueries({ queryKey: ['forks'] });
      void queries.invalidateQueries({ queryKey: ['versions'] });
      writeOn();
      void navigate({ to: '/c/$id', params: { id: made.id } });
    }, told);
  const turned = message.turn_id !== null && (message.role === 'user' || message.role === 'assistant');
  return (
    <div
      className={cx(
        'flex min-h-8 flex-wrap items-center gap-0.5 text-faint transition-opacity group-focus-within/message:opacity-100 group-hover/message:opacity-100',
        floats ? 'absolute -top-8 right-0 rounded-lg border border-line bg-bg' : 'mt-1 -ml-2',
        !shown && !error && 'opacity-0 pointer-coarse:hidden',
      )}
    >
      <IconButton
        name={copied ? 'Copied' : 'Copy'}
        onClick={() => {
          copyText(text).then(() => {
            setCopied(true);
            setTimeout(() => setCopied(false), 1_500);
          }, told);
        }}
      >
        <Copy size={14} />
      </IconButton>
      {onEdit && !reader && (
        <IconButton name="Edit, in a new branch" onClick={onEdit}>
          <Pencil size={14} />
        </IconButton>
      )}
      {message.role === 'assistant' && turned && !reader && (
        <IconButton name="Answer again, in a new branch" onClick={() => branch(request<Session>(`/v1/messages/${message.id}/regenerate`, { body: { session_id: session } }))}>
          <RefreshCw size={14} />
        </IconButton>
      )}
      {!reader && (
        <>
          <IconButton name="Fork from here" onClick={() => branch(request<Session>(`/v1/sessions/${session}/fork`, { body: { at: message.id } }))}>
            <GitFork size={14} />
          </IconButton>
          <IconButton name={message.marks.pinned ? 'Unpin from the context' : 'Pin to the context'} more={cost({ pinned: !message.marks.pinned })} onClick={() => mark({ pinned: !message.marks.pinned })}>
            {message.marks.pinned ? <BookmarkCheck size={14} className="text-accent" /> : <Bookmark size={14} />}
          </IconButton>
          {message.role !== 'summary' && ( // a summary has a button of that name
            <IconButton name={message.marks.set_aside ? 'Show to the model again' : 'Set aside: the model does not see it'} more={cost({ set_aside: !message.marks.set_aside })} onClick={() => mark({ set_aside: !message.marks.set_aside })}>
              {message.marks.set_aside ? <EyeOff size={14} className="text-warn" /> : <Eye size={14} />}
            </IconButton>
          )}
        </>
      )}
      <IconButton name="Inspect" onClick={() => void navigate({ to: '/c/$id/inspect', params: { id: session }, search: { row: message.id } })}>
        <ScanSearch size={14} />
      </IconButton>
      {onEdit && <Branches message={message} />}
      {facts && <Facts message={message} session={session} />}
      {error && (
        <span role="alert" className="text-xs text-bad">
          {error}
        </span>
      )}
    </div>
  );
}

// Branches links to the conversations that ask this message again.
function Branches({ message }: { message: Message }) {
  const navigate = useNavigate();
  const [wanted, setWanted] = useState(false);
  const branches = useQuery({ ...branchesOf(message.id), enabled: wanted });
  return (
    <Menu
      onOpen={() => setWanted(true)}
      trigger={
        <button type="button" aria-label="Branches" className="inline-flex size-8 items-center justify-center rounded-lg hover:bg-hover hover:text-text">
          <GitBranch size={14} aria-hidden />
        </button>
      }
      entries={
        branches.data && branches.data.length > 0
          ? branches.data.map((session) => ({ label: titleOf(session), onSelect: () => void navigate({ to: '/c/$id', params: { id: session.id } }) }))
          : [{ label: branches.isPending ? 'Loading…' : 'No branch begins here', disabled: true, onSelect: () => undefined }]
      }
    />
  );
}

function Facts({ message, session }: { message: Message; session: ID }) {
  const { usage, metadata } = message;
  const cached = usage?.cached_tokens ?? 0;
  return (
    <span className="ml-2 flex flex-wrap items-center gap-2 text-xs">
      <time dateTime={message.created_at} title={fullTime(message.created_at)}>
        {time(message.created_at)}
      </time>
      {message.model && <span>{message.model}</span>}
      {message.model?.startsWith('sim/') && <Badge tone="warn">simulator</Badge>}
      {usage && (
        <span title="Tokens in and out">
          {compact(usage.input_tokens ?? 0)} in · {compact(usage.output_tokens ?? 0)} out
        </span>
      )}
      {cached > 0 && <Badge tone="good">{Math.round((100 * cached) / Math.max(1, usage?.input_tokens ?? 1))} % cached</Badge>}
      {typeof metadata.attempt === 'number' && (
        <Link to="/c/$id/inspect" params={{ id: session }} search={{ row: message.id }} title="Why the earlier attempts failed">
          <Badge tone="warn">attempt {metadata.attempt}</Badge>
        </Link>
      )}
      {metadata.cached_response === true && <Badge tone="good">cached answer</Badge>}
      {typeof metadata.cost === 'number' && (
        <span {...(metadata.estimated === true ? { title: 'The provider did not report what this call took: it counts as an estimate', 'data-estimated': true } : {})}>
          {metadata.estimated === true && 'estimated '}
          {money(metadata.cost)}
        </span>
      )}
      {typeof metadata.saved === 'number' && metadata.saved > 0 && <span className="text-good">{money(metadata.saved)} saved</span>}
      {typeof metadata.total_ms === 'number' && <span>{duration(metadata.total_ms)}</span>}
    </span>
  );
}
