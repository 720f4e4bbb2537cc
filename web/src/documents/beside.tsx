import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { ArrowLeft, Hourglass, Loader2, Maximize2 } from 'lucide-react';
import { type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { Problem } from '../api/http';
import type { Artifact, ID, Message, Session } from '../api/types';
import { isJson, type Json, jsonOf } from '../components/json';
import { useReader } from '../components/role';
import { Badge, Button, Failed, Loading } from '../components/ui';
import type { LiveMessage } from '../live/message';
import type { Transcript } from '../live/transcript';
import { Ask } from './ask';
import { Bytes, Content, SOURCES, type Text } from './content';
import { Growing } from './growing';
import { contentOf, documentOf, versionOf } from './queries';
import { usePassage } from './selected';
import { authorOf, KINDS } from './words';
import { changed, type Draft, edited, latestIn, openCalls, useDraft } from './writing';
import { Wrote } from './wrote';
import { writesDocument, writtenBy } from './written';

const NEAR_END = 24; // pixels from the end that count as the end

interface Props {
  session: Session;
  transcript: Transcript;
  document: ID | null;
  call: ID | null; // the message of the call that writes a document without an id
}

// Beside shows a document next to its conversation, also while a call of the conversation writes it.
export function Beside({ session, transcript, document: asked, call: calling }: Props) {
  useSyncExternalStore(transcript.subscribe, transcript.snapshot);
  const navigate = useNavigate();
  const reader = useReader();
  const [source, setSource] = useState(false);
  const here = useRef<HTMLDivElement>(null);
  const { call, open } = useCall(transcript, asked, calling);
  const draft = useDraft(call);
  const result = calling ? resultOf(transcript, calling) : undefined;
  const written = writtenBy(result);
  const id = asked ?? draft?.id ?? written?.id ?? null;
  const document = useQuery({ ...documentOf(id ?? ''), enabled: id !== null });
  const version = Math.max(document.data?.version ?? 0, id ? latestIn(transcript, id) : 0);
  const content = useQuery({ ...contentOf(id ?? '', version), enabled: id !== null && version > 0 });
  const author = useQuery({ ...versionOf(id ?? '', version), enabled: id !== null && version > 0 });
  const base = useQuery({ ...contentOf(id ?? '', draft?.base ?? version), enabled: id !== null && draft !== null && draft.content === undefined && version > 0 });
  const kind = document.data?.kind ?? kindOf(draft);
  const now = useText(kind, draft, base.data, content.data);
  const { passage, choice } = usePassage(here, draft ? '' : (content.data ?? ''));
  useFollow(here, open, now);
  useEffect(() => {
    if (calling && written) void navigate({ to: '/c/$id', params: { id: session.id }, search: (old) => ({ ...old, call: undefined, document: written.id }), replace: true });
  }, [navigate, session.id, calling, written?.id]);
  const name = document.data?.name ?? draft?.name ?? 'A document';
  const asks = open && transcript.approvals.get(call?.message.tool_call_id ?? '')?.state === 'pending';
  const failed = !call || open ? null : result ? result.content.error : 'the turn was stopped.';
  if (document.isError && !now) {
    const gone = document.error instanceof Problem && document.error.status === 404;
    return (
      <>
        <Back session={session.id} />
        {gone ? <p className="text-sm text-soft">This document was deleted, or belongs to somebody else.</p> : <Failed error={document.error} onRetry={() => void document.refetch()} />}
      </>
    );
  }
  const shown: Pick<Artifact, 'kind' | 'name'> = { kind, name };
  return (
    <article aria-label={name} aria-busy={open} data-beside={id ?? undefined}>
      <Back session={session.id} />
      <header className="sticky -top-4 z-10 -mx-4 mb-4 border-b border-line bg-raised px-4 pt-1 pb-2">
        <h2 className="font-semibold [overflow-wrap:anywhere]">{name}</h2>
        <p role="status" className="mb-2 flex min-h-6 flex-wrap items-center gap-x-2 gap-y-1 text-xs text-faint">
          <Badge>{KINDS[kind]}</Badge>
          {open ? (
            <span className="flex items-center gap-1">
              {asks ? <Hourglass size={12} aria-hidden className="text-warn" /> : <Loader2 size={12} aria-hidden className="animate-spin" />}
              {version > 0 ? `version ${version + 1}` : 'it'} {asks ? 'waits for approval' : 'is being written'}
            </span>
          ) : (
            version > 0 && (
              <span>
                version {version}
                {author.data && ` by ${authorOf(author.data)}`}
              </span>
            )
          )}
          {failed && <span className="text-bad">It was not written: {failed}</span>}
        </p>
        <div className="flex flex-wrap items-center gap-2">
          {SOURCES.has(kind) && (
            <Button aria-pressed={source} onClick={() => setSource(!source)}>
              Source
            </Button>
          )}
          {id && document.data && (
            <Link to="/documents/$id" params={{ id }} className="inline-flex min-h-8 items-center gap-1.5 rounded-lg border border-line-strong bg-bg px-3 text-sm font-medium hover:bg-hover">
              <Maximize2 size={14} aria-hidden /> Open
            </Link>
          )}
          <span className="flex-1" />
          {id && !open && <Wrote document={id} version={version} passage={passage} />}
          {document.data && !open && !reader && <Ask document={document.data} version={version} session={session.id} passage={passage} onSent={(to) => to !== session.id && void navigate({ to: '/c/$id', params: { id: to } })} />}
        </div>
      </header>
      <div ref={here} data-content>
        {kind === 'file' && document.data && author.data ? <Bytes document={document.data} version={author.data} /> : now ? <Content document={shown} content={now} source={source} grows={open} choice={open ? undefined : choice} /> : content.isError ? <Failed error={content.error} onRetry={() => void content.refetch()} /> : <Waiting call={call} id={id} />}
      </div>
    </article>
  );
}

function Back({ session }: { session: ID }) {
  return (
    <Link to="/c/$id" params={{ id: session }} search={{ panel: 'documents' }} className="mb-2 inline-flex items-center gap-1 text-xs text-accent underline underline-offset-2">
      <ArrowLeft size={12} aria-hidden /> All documents of this conversation
    </Link>
  );
}

function Waiting({ call, id }: { call: LiveMessage | null; id: ID | null }) {
  if (call || id) return <Loading what="the text" />;
  return <p className="text-sm text-soft">The call that wrote this document is not in the part of the conversation that is shown.</p>;
}

function resultOf(transcript: Transcript, call: ID): Message | undefined {
  const of = transcript.messages.get(call)?.message.tool_call_id;
  return of ? transcript.order.find(({ message }) => message.role === 'tool_result' && message.tool_call_id === of)?.message : undefined;
}

// useCall finds the call that writes a document: the last one that names it and has no result yet, or the one that was
// asked for, which may have failed. open says that it still writes.
function useCall(transcript: Transcript, document: ID | null, asked: ID | null): { call: LiveMessage | null; open: boolean } {
  const calls = openCalls(transcript);
  const [, draw] = useState(0);
  const names = calls.map(({ message }) => message.id).join();
  useEffect(() => {
    const ends = calls.map((one) => one.subscribe(() => draw((n) => n + 1)));
    return () => ends.forEach((end) => end());
  }, [names]); // oxlint-disable-line exhaustive-deps -- which calls are open
  if (!asked) {
    const call = calls.findLast((one) => document !== null && one.text('arguments').includes(document)) ?? null;
    return { call, open: call !== null };
  }
  const call = transcript.messages.get(asked) ?? null;
  return call && writesDocument(call.message.tool_name) ? { call, open: calls.includes(call) } : { call: null, open: false };
}

function kindOf(draft: Draft | null): Artifact['kind'] {
  if (draft?.kind && draft.kind in KINDS) return draft.kind as Artifact['kind'];
  return typeof draft?.content === 'object' ? 'json' : 'markdown';
}

// useText is what a document holds now: what a call writes, or its newest version. Until that is here, it is what was
// shown before.
function useText(kind: Artifact['kind'], draft: Draft | null, base: string | undefined, stored: string | undefined): Text | null {
  const last = useRef<Text | null>(null);
  const inner = useRef(new Growing());
  const began = useMemo(() => (kind === 'json' && base !== undefined ? jsonOf(base) : null), [kind, base]);
  const now = useMemo(() => (stored === undefined ? null : { text: stored }), [stored]);
  last.current = (draft ? written(kind, draft, base, began, inner.current) : now) ?? last.current;
  return last.current;
}

function written(kind: Artifact['kind'], draft: Draft, base: string | undefined, began: Json | null, inner: Growing): Text | null {
  const { content } = draft;
  if (isJson(content)) return { value: content };
  if (content !== undefined) {
    const value = kind === 'json' ? inner.read(String(content)) : null; // models send JSON as its text, too
    return isJson(value) ? { value } : { text: String(content) };
  }
  if (base === undefined) return null;
  if (!began) return { text: edited(base, draft.edits) };
  const value = changed(began, draft.patch);
  return isJson(value) ? { value } : { text: base };
}

// useFollow keeps the end in view while a text grows, for somebody who is there.
function useFollow(here: RefObject<HTMLElement | null>, grows: boolean, text: Text | null): void {
  const follows = useRef(true);
  useEffect(() => {
    const scroller = here.current?.closest<HTMLElement>('.overflow-y-auto');
    if (!grows || !scroller) return;
    const onScroll = () => (follows.current = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight <= NEAR_END);
    onScroll();
    scroller.addEventListener('scroll', onScroll);
    return () => scroller.removeEventListener('scroll', onScroll);
  }, [here, grows]);
  useLayoutEffect(() => {
    const scroller = here.current?.closest<HTMLElement>('.overflow-y-auto');
    if (grows && follows.current && scroller) scroller.scrollTop = scroller.scrollHeight;
  }, [here, grows, text]);
}
