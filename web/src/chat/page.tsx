import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { request } from '../api/http';
import { Loading } from '../components/ui';
import { feed } from '../live/feed';
import { Transcript } from '../live/transcript';
import { Composer } from './composer';
import { Drawer } from './drawer';
import { Header } from './header';
import { Queue } from './queue';
import { TranscriptView } from './view';

export function ChatPage() {
  const { id } = useParams({ from: '/c/$id' });
  return <Chat key={id} id={id} />;
}

function Chat({ id }: { id: string }) {
  const { panel, at } = useSearch({ from: '/c/$id' });
  const navigate = useNavigate();
  const [transcript] = useState(() => new Transcript(id));
  useSyncExternalStore(transcript.subscribe, transcript.snapshot);
  const opened = useRef(at);
  useEffect(() => {
    transcript.open(opened.current);
    return () => transcript.close();
  }, [transcript]);
  useEffect(() => {
    if (at === opened.current) return;
    opened.current = at;
    if (at) void transcript.goTo(at);
  }, [transcript, at]);
  const toEnd = () => {
    if (at) void navigate({ to: '/c/$id', params: { id }, search: { panel }, replace: true }); // so that a reload stays there
    void transcript.goToEnd();
  };
  usePresence(id);
  const { session, activity } = transcript;
  useEffect(() => {
    document.title = session?.title ? `${session.title} – Parley` : 'Parley';
  }, [session?.title]);
  return (
    <div className="flex h-full">
      <div className="flex min-w-0 flex-1 flex-col">
        <Header transcript={transcript} />
        {transcript.state === 'loading' ? (
          <div className="mx-auto w-full max-w-3xl flex-1 px-4 pt-6">
            <Loading what="the conversation" />
          </div>
        ) : (
          <TranscriptView transcript={transcript} onLatest={toEnd} />
        )}
        <Queue transcript={transcript} />
        <Composer
          draftKey={id}
          placeholder={activity.running ? 'Say something to the running turn…' : 'Reply…'}
          running={activity.running}
          disabled={session?.archived_at ? 'This conversation is archived. Reopen it from its menu to go on.' : undefined}
          onSend={async ({ text, files, during, key }) => {
            const content = { text, ...(files.length > 0 ? { files } : {}) };
            await request(`/v1/sessions/${id}/messages`, { body: { role: 'user', content, ...(during ? { during } : {}) }, key });
            if (transcript.newer) toEnd(); // where the message is
          }}
          onStop={async () => {
            await request(`/v1/sessions/${id}/cancel`, { method: 'POST', body: {} });
          }}
        />
      </div>
      {panel && session && <Drawer panel={panel} transcript={transcript} onClose={() => void navigate({ to: '/c/$id', params: { id } })} />}
    </div>
  );
}

// usePresence tells the server which conversation this tab has open.
function usePresence(id: string): void {
  useEffect(() => {
    const path = `/v1/clients/page-${feed.tab}/session`;
    void request(path, { method: 'PUT', body: { session_id: id } }).catch(() => undefined);
    const clear = () => void fetch(path, { method: 'DELETE', keepalive: true }).catch(() => undefined);
    addEventListener('pagehide', clear);
    return () => {
      removeEventListener('pagehide', clear);
      clear();
    };
  }, [id]);
}
