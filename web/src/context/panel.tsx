import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Eraser, FoldVertical, PinOff } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { request, sentence } from '../api/http';
import type { ContextPreview, ID } from '../api/types';
import { readDraft } from '../chat/draft';
import { summarise } from '../chat/summarising';
import { money, number } from '../components/format';
import { useReader } from '../components/role';
import { Badge, Button, cx, Failed, IconButton, Loading } from '../components/ui';
import type { Transcript } from '../live/transcript';
import { Cost } from './cost';
import { Foreseen } from './foreseen';
import { Account } from './leftout';
import { bytesOf, labelOf } from './parts';
import { Sent } from './sent';
import { useContextOf } from './usecontext';

const SNIPPET = 80; // characters of a pinned message

// ContextPanel shows what the next call of a conversation would see, what not, and why.
export function ContextPanel({ transcript }: { transcript: Transcript }) {
  const session = transcript.session!;
  const [text, setText] = useState(''); // of the draft, if it is counted too
  const [part, setPart] = useState<number>();
  const reader = useReader();
  const context = useContextOf(transcript, true, text);
  if (context.isPending) return <Loading what="the context" />;
  if (context.isError) return <Failed error={context.error} onRetry={() => void context.refetch()} />;
  const { data } = context;
  return (
    <div className={cx('space-y-6', context.isPlaceholderData && 'opacity-70')}>
      <section aria-label="The next call" className="space-y-3">
        <p className="text-sm text-soft">
          What <span className="font-mono text-[13px] text-text">{data.model}</span> would see next, under the policy {data.policy}.
        </p>
        <Choice draft={readDraft(session.id)} counted={text} onCount={setText} />
        {data.refused && (
          <p role="status" className="rounded-lg bg-warn-soft px-3 py-2 text-sm text-warn">
            It cannot be sent now: {data.refused}
          </p>
        )}
        {data.outlook && <Foreseen session={session.id} outlook={data.outlook} data={data} />}
        <Sent session={session.id} explained={data} cached={data.cache.tokens} cachedSays={data.cache.likely ? 'Likely from the cache' : 'Same beginning as the last call'} open={part} onOpen={setPart} />
        <Forecast data={data} />
      </section>
      <Heading name="What the model can still read">
        <Account session={session.id} last={session.last_sequence} left={data.left_out} parts={data.parts} />
      </Heading>
      <Pins session={session.id} data={data} />
      {!reader && <Actions session={session.id} cleared={session.context.cleared_at !== null} />}
    </div>
  );
}

function Heading({ name, children }: { name: string; children: ReactNode }) {
  return (
    <section>
      <h2 className="mb-2 text-sm font-medium">{name}</h2>
      {children}
    </section>
  );
}

// Choice can include the composer's text, as it is at that moment.
function Choice({ draft, counted, onCount }: { draft: string; counted: string; onCount: (text: string) => void }) {
  if (!draft.trim() && !counted) return null;
  return (
    <div role="group" aria-label="What to count" className="flex flex-wrap items-center gap-2 text-xs">
      <Button look="quiet" aria-pressed={!counted} className={cx('text-xs', !counted && 'bg-accent-soft text-accent-strong')} onClick={() => onCount('')}>
        Without a draft
      </Button>
      <Button look="quiet" aria-pressed={counted !== ''} className={cx('text-xs', counted && 'bg-accent-soft text-accent-strong')} onClick={() => onCount(draft)}>
        {counted && counted !== draft ? 'Count the draft again' : 'With your draft'}
      </Button>
    </div>
  );
}

function Forecast({ data: { cache, cost } }: { data: ContextPreview }) {
  return (
    <div className="space-y-1 text-xs text-soft">
      <p>{cache.says}</p>
      {!!cost.output_most && cost.input !== null && (
        <p>
          Reading it costs {money(cost.input)}
          {cache.tokens > 0 && cost.input_cached !== null && `, ${money(cost.input_cached)} if the cache holds its beginning`}; the longest answer ({number(cost.output_tokens_most)} tokens) {money(cost.output_most)}.
        </p>
      )}
    </div>
  );
}

// Pins lists the messages that stay in every window.
function Pins({ session, data: { parts, request: sent } }: { session: ID; data: ContextPreview }) {
  const reader = useReader();
  const [error, setError] = useState('');
  const pinned = parts.filter((part, at) => part.pinned && part.message_id && parts.findIndex((one) => one.message_id === part.message_id) === at);
  return (
    <Heading name="Pinned">
      {pinned.length === 0 && <p className="text-sm text-soft">No pinned messages. A pinned message stays in every window.</p>}
      {pinned.length > 0 && (
        <ul className="divide-y divide-line rounded-xl border border-line text-sm">
          {pinned.map((part) => (
            <li key={part.message_id} className="flex items-center gap-2 py-0.5 pr-1 pl-3">
              <Link to="/c/$id" params={{ id: session }} search={{ at: part.message_id! }} className="min-w-0 flex-1 truncate text-accent hover:underline">
                {labelOf(part)} <span className="text-soft">{bytesOf(sent, part).slice(0, SNIPPET)}</span>
              </Link>
              <Badge>{number(part.tokens)} tokens</Badge>
              {!reader && (
                <IconButton name="Unpin from the context" more={<Cost session={session} change={{ marks: [{ message_id: part.message_id!, pinned: false }] }} />} onClick={() => void request(`/v1/messages/${part.message_id}/marks`, { method: 'PUT', body: { pinned: false } }).catch((failure: unknown) => setError(sentence(failure)))}>
                  <PinOff size={14} />
                </IconButton>
              )}
            </li>
          ))}
        </ul>
      )}
      {error && (
        <p role="alert" className="mt-1 text-sm text-bad">
          {error}
        </p>
      )}
    </Heading>
  );
}

// Actions free space in the window. The record always stays.
function Actions({ session, cleared }: { session: ID; cleared: boolean }) {
  const queries = useQueryClient();
  const [error, setError] = useState('');
  const clear = () => {
    setError('');
    request(`/v1/sessions/${session}/clear`, { body: {} }).then(
      () => void queries.invalidateQueries({ queryKey: ['context', session] }),
      (failure: unknown) => setError(sentence(failure)),
    );
  };
  return (
    <Heading name="Make room">
      <div className="flex flex-wrap gap-2">
        <Button onClick={() => summarise(session)}>
          <FoldVertical size={14} aria-hidden /> Summarise now…
        </Button>
        <Button onClick={clear} disabled={cleared}>
          <Eraser size={14} aria-hidden /> {cleared ? 'Cleared' : 'Clear context'}
        </Button>
      </div>
      <p className="mt-2 text-xs text-faint">The record stays complete: summarised or cleared messages are no longer sent, but you can read them at any time.</p>
      {error && (
        <p role="alert" className="mt-2 text-sm text-bad">
          {error}
        </p>
      )}
    </Heading>
  );
}
