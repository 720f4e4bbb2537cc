import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { Suspense, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { agentOf } from '../api/queries';
import type { LeftOut } from '../api/types';
import { Loading } from '../components/ui';
import { useContextOf } from '../context/usecontext';
import { part } from '../live/arrive';
import { Transcript } from '../live/transcript';
import { useMine, useReader } from '../components/role';
import { Unauthorized } from '../toolservers/authorize';
import { typing } from '../components/shortcuts';
import { titled } from '../components/tab';
import { titleOf } from '../components/title';
import { Announcer } from './activity';
import { Composer } from './composer';
import { useAbilities } from './abilities';
import { Header } from './header';
import { stopHere } from './hold';
import { useJumps } from './jump';
import { Missing } from './missing';
import { leave, leftAt } from './left';
import { Notices } from './notices';
import { usePresence } from './presence';
import { summarise, useWish } from './summarising';
import { Queue } from './queue';
import { TranscriptView } from './view';

const Drawer = part(() => import('./drawer'), 'Drawer');
const Summarise = part(() => import('./summarise'), 'Summarise');
const NONE: LeftOut[] = [];
const READS = 'You have read access. To write, ask an admin for a key with the role member.';
const NARROW = matchMedia('(max-width: 1279px)'); // the drawer covers the conversation

export function ChatPage() {
  const { id } = useParams({ from: '/c/$id' });
  return <Chat key={id} id={id} />;
}

function Chat({ id }: { id: string }) {
  const { panel, at, find, document: reading, call } = useSearch({ from: '/c/$id' });
  const navigate = useNavigate();
  const [transcript] = useState(() => new Transcript(id));
  useSyncExternalStore(transcript.subscribe, transcript.snapshot);
  const opened = useRef(at);
  useEffect(() => {
    const left = opened.current === undefined ? leftAt(id) : undefined;
    transcript.open(left ? String(left.sequence) : opened.current, left?.offset);
    return () => {
      leave(id, transcript.reading);
      transcript.close();
    };
  }, [id, transcript]);
  useEffect(() => {
    if (at === opened.current) return;
    opened.current = at;
    if (!at) return;
    void transcript.goTo(at);
    if (NARROW.matches && panel) void navigate({ to: '/c/$id', params: { id }, search: { at }, replace: true }); // the drawer would cover it
  }, [transcript, at]); // oxlint-disable-line exhaustive-deps -- when a message is sought
  const toEnd = () => {
    if (at) void navigate({ to: '/c/$id', params: { id }, search: (old) => ({ ...old, at: undefined, find: undefined }), replace: true }); // so that a reload stays there
    void transcript.goToEnd();
  };
  usePresence(transcript.state === 'failed' ? null : id);
  useJumps(transcript);
  const show = (next: typeof panel) => void navigate({ to: '/c/$id', params: { id }, search: next ? { panel: next } : {}, replace: true });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'o' || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
      event.preventDefault();
      show(panel === 'outline' ? undefined : 'outline');
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
  useEffect(() => {
    const onChange = () => NARROW.matches && panel && show(undefined);
    NARROW.addEventListener('change', onChange);
    return () => NARROW.removeEventListener('change', onChange);
  });
  const { session, activity } = transcript;
  const reader = useReader();
  const wish = useWish(id);
  const context = useContextOf(transcript, panel === 'context' && session !== null);
  const mine = useMine();
  const abilities = useAbilities(session?.agent_id ?? null, session?.model ?? null);
  const { data: agent } = useQuery({ ...agentOf(session?.agent_id ?? ''), enabled: session !== null });
  useEffect(() => {
    titled(transcript.state === 'failed' ? 'No conversation – Parley' : session?.title ? `${titleOf(session)} – Parley` : 'Parley');
  }, [session?.title, transcript.state]);
  if (transcript.state === 'failed') {
    return (
      <div className="flex h-full flex-col">
        <Header transcript={transcript} />
        <Missing error={transcript.error} onRetry={() => transcript.retry()} />
      </div>
    );
  }
  return (
    <div className="flex h-full">
      <div className="flex min-w-0 flex-1 flex-col">
        <Header transcript={transcript} />
        {transcript.state === 'loading' ? (
          <div className="mx-auto w-full max-w-3xl flex-1 px-4 pt-6">
            <Loading what="the conversation" />
          </div>
        ) : (
          <TranscriptView transcript={transcript} find={find ?? ''} left={panel === 'context' ? (context.data?.left_out ?? NONE) : NONE} onLatest={toEnd} />
        )}
        <Notices transcript={transcript} />
        <Unauthorized agent={agent} className="mx-auto mb-2 w-full max-w-3xl px-4" />
        <Announcer transcript={transcript} />
        <Queue transcript={transcript} />
        {reader ? (
          <p className="mx-auto w-full max-w-3xl px-4 pb-4 text-center text-sm text-soft">{READS}</p>
        ) : (
          <Composer
            draftKey={id}
            placeholder={activity.wait === 'input' ? 'Answer above, or say something else…' : activity.running ? 'Say something to the running turn…' : agent ? `Reply to ${agent.name}…` : 'Reply…'}
            running={activity.running}
            disabled={session?.archived_at ? 'This conversation is archived. Reopen it from its menu to continue.' : undefined}
            session={id}
            abilities={abilities}
            post={(message) => ({ path: `/v1/sessions/${id}/messages`, body: { role: 'user', ...message } })}
            onSent={() => transcript.newer && toEnd() /* where the message is */}
            onStop={() => stopHere(transcript, mine)}
            onCompact={(instructions) => summarise(id, { instructions })}
          />
        )}
      </div>
      {wish && (
        <Suspense fallback={null}>
          <Summarise session={id} />
        </Suspense>
      )}
      {panel && session && (
        <Suspense fallback={<aside aria-busy className="w-[27rem] shrink-0 border-l border-line bg-raised max-xl:hidden" />}>
          <Drawer
            panel={panel}
            open={{ document: reading, call }}
            transcript={transcript}
            onClose={() => show(undefined)}
            onJump={(message) => {
              if (NARROW.matches) show(undefined);
              void transcript.goTo(message);
            }}
          />
        </Suspense>
      )}
    </div>
  );
}
