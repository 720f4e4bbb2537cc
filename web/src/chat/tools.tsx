import { Check, ChevronRight, CircleAlert, CircleSlash, Hourglass, Loader2, Wrench } from 'lucide-react';
import { memo, Suspense, useEffect, useState, useSyncExternalStore } from 'react';
import { Link } from '@tanstack/react-router';
import { filesIn, resultText } from '../api/parts';
import type { Approval, Message } from '../api/types';
import { duration } from '../components/format';
import { cx } from '../components/ui';
import { part } from '../live/arrive';
import type { Transcript } from '../live/transcript';
import { Files } from './files';
import type { Call } from './rows';
import { formerText, writingOf } from './writing';
import { writesDocument } from '../documents/written';

const Answer = part(() => import('./answer'), 'Answer');
const ApprovalCard = part(() => import('./approval'), 'ApprovalCard');
const DocumentLine = part(() => import('../documents/line'), 'DocumentLine');
const Payload = part(() => import('../components/payload'), 'Payload');
const Written = part(() => import('./written'), 'Written');

const open = new Map<string, boolean>(); // cards that a person opened or closed; kept while the page lives

export const ToolsRow = memo(function ToolsRow({ calls, transcript, sought, marked: here }: { calls: Call[]; transcript: Transcript; version: number; sought: number | null; marked: boolean }) {
  const key = calls[0]!.call.message.id;
  const approving = calls.flatMap(({ call, result }) => (result ? [] : (pendingOf(transcript, call.message.tool_call_id) ?? [])));
  const asking = calls.some((one) => question(one)) || approving.some((one) => one.question);
  const [expanded, setExpanded] = useState(open.get(key) ?? false);
  useEffect(() => {
    if (sought === null) return;
    open.set(key, true);
    setExpanded(true);
  }, [key, sought]);
  const marked = sought === null ? null : (calls.find(({ call, result }) => call.message.sequence === sought || result?.message.sequence === sought) ?? calls[0]);
  const shown = expanded || approving.length > 0 || asking;
  const failures = calls.filter(({ result }) => result && !result.message.content.success).length;
  const total = calls.reduce((sum, { result }) => sum + (result?.message.content.execution_time_ms ?? 0), 0);
  const names = [...new Set(calls.map(({ call }) => call.message.tool_name ?? '…'))];
  const toggle = () => {
    open.set(key, !shown);
    setExpanded(!shown);
  };
  return (
    <section data-sought={(here && sought === null) || undefined} className="my-2 rounded-xl border border-line bg-raised text-sm" aria-label={`Tools: ${names.join(', ')}`}>
      <button type="button" aria-expanded={shown} onClick={toggle} className="flex min-h-9 w-full items-center gap-2 px-3 text-left">
        <ChevronRight size={14} aria-hidden className={cx('shrink-0 text-faint transition-transform', shown && 'rotate-90')} />
        <Wrench size={14} aria-hidden className="shrink-0 text-faint" />
        <span className="min-w-0 flex-1 truncate">
          <span className="font-medium">{names.slice(0, 3).join(', ')}</span>
          {names.length > 3 && ` and ${names.length - 3} more`}
          {calls.length > 1 && <span className="text-faint"> · {calls.length} calls</span>}
        </span>
        {failures > 0 && <span className="text-bad">{failures} failed</span>}
        <span className="text-xs text-faint">{calls.every(({ result }) => result) ? duration(total) : ''}</span>
        <State calls={calls} waits={asking ? 'waits for your answer' : approving.length > 0 ? 'waits for approval' : ''} />
      </button>
      {calls.some(({ call }) => writesDocument(call.message.tool_name)) && (
        <ul className="divide-y divide-line border-t border-line">
          {calls.map((one) => writesDocument(one.call.message.tool_name) && <DocumentPlace key={one.call.message.id} one={one} session={transcript.id} />)}
        </ul>
      )}
      {shown && (
        <ul className="divide-y divide-line border-t border-line">
          {calls.map((one) => (
            <li key={one.call.message.id} className={cx('px-3 py-2', marked === one && 'sought')} data-sought={marked === one || undefined}>
              <OneCall one={one} alone={calls.length === 1} transcript={transcript} sought={marked === one} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
});

// DocumentPlace keeps the room of a document's line while its code arrives.
function DocumentPlace({ one, session }: { one: Call; session: string }) {
  return (
    <li className="min-h-9">
      <Suspense fallback={null}>
        <DocumentLine one={one} session={session} />
      </Suspense>
    </li>
  );
}

function State({ calls, waits }: { calls: Call[]; waits: string }) {
  if (waits) return <Hourglass size={14} className="text-warn" aria-label={waits} />;
  if (calls.some(({ result }) => !result)) return <Loader2 size={14} className="animate-spin text-accent" aria-label="running" />;
  if (calls.some(({ result }) => !result!.message.content.success)) return <CircleAlert size={14} className="text-bad" aria-label="failed" />;
  return <Check size={14} className="text-good" aria-label="done" />;
}

// OneCall is a call in a card; if it is the only one, its name and time are in the card's head.
function OneCall({ one: { call, result }, alone, transcript, sought }: { one: Call; alone: boolean; transcript: Transcript; sought: boolean }) {
  useSyncExternalStore(call.subscribe, call.snapshot);
  const { message } = call;
  const approval = pendingOf(transcript, message.tool_call_id);
  const said = result?.message.content;
  const child = message.metadata.session_id;
  const asked = question({ call, result });
  const writing = writingOf(message.tool_name, message.content.arguments);
  return (
    <div className="space-y-2">
      <div className={cx('flex items-center gap-2', alone && message.status !== 'cancelled' && typeof child !== 'string' && 'hidden')}>
        <span className="font-mono text-[13px] font-medium">{message.tool_name ?? '…'}</span>
        {said && <span className="text-xs text-faint">{duration(said.execution_time_ms ?? null)}</span>}
        {message.status === 'cancelled' && <CircleSlash size={13} className="text-faint" aria-label="cancelled" />}
        {typeof child === 'string' && (
          <Link to="/c/$id" params={{ id: child }} className="ml-auto text-xs text-accent underline underline-offset-2">
            Open its conversation
          </Link>
        )}
      </div>
      <Suspense fallback={null}>
        {writing ? <Written writing={writing} former={formerText(transcript, writing.path, message.sequence ?? 0)} /> : !asked && <Payload name="Arguments" text={pretty(call.text('arguments'))} tree sought={sought} />}
        {approval && !result && <ApprovalCard approval={approval} />}
        {asked && <Answer question={asked} call={message} />}
        {said && (said.error ? <Payload name="Error" text={said.error} bad tree sought={sought} /> : <Payload name="Result" text={resultText(said)} tree sought={sought} />)}
      </Suspense>
      {filesIn(said?.parts).length > 0 && <Files ids={filesIn(said?.parts)} />}
    </div>
  );
}

function pendingOf(transcript: Transcript, callID: string | null): Approval | null {
  const approval = transcript.approvals.get(callID ?? '');
  return approval?.state === 'pending' ? approval : null;
}

export interface Asked {
  question: string;
  options: string[];
}

// question is the question of an open ask_user call.
function question({ call, result }: Call): Asked | null {
  return result ? null : askedBy(call.message);
}

// askedBy is the question that a call asks a person; null for every other call.
export function askedBy(message: Message): Asked | null {
  if (message.tool_name !== 'ask_user' || message.status !== 'completed') return null;
  const asked = message.content.arguments ?? {};
  return { question: String(asked.question ?? ''), options: Array.isArray(asked.options) ? asked.options.map(String) : [] };
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text; // still streaming, or not JSON
  }
}
