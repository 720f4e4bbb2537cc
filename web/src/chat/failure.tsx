import { Link, useNavigate } from '@tanstack/react-router';
import { RotateCcw } from 'lucide-react';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { request, sentence } from '../api/http';
import { callsOf } from '../api/queries';
import type { Call, Failure, ID, Message } from '../api/types';
import { fullTime, money } from '../components/format';
import { useReader } from '../components/role';
import { Badge, Button } from '../components/ui';
import { summarise } from './summarising';

// Remedies for a failure besides retrying, by its class.
type Remedy = 'providers' | 'model' | 'summary' | 'clear' | 'inspect';

const REMEDIES: Record<string, Remedy[]> = {
  auth: ['providers', 'model'],
  network: ['providers'],
  rate_limit: ['model'],
  model: ['model', 'inspect'],
  context_length: ['summary', 'clear', 'model'],
  content_filter: ['model'],
  crash_loop: ['inspect'],
  internal: ['inspect'],
  limit: ['inspect'],
  schema: ['model', 'inspect'],
};

const LINK = 'inline-flex min-h-8 items-center rounded-lg border border-line-strong bg-bg px-3 text-sm font-medium hover:bg-hover';

interface Props {
  failure: Failure;
  turn: ID | null; // to retry; null if another turn has followed
  session: ID;
  interrupted?: Message; // whose call broke off: what it cost is an estimate
}

// ErrorCard says what went wrong and offers remedies.
export function ErrorCard({ failure, turn: tried, session, interrupted }: Props) {
  const turn = useReader() ? null : tried;
  const [busy, setBusy] = useState(false);
  const [said, setSaid] = useState('');
  const limited = failure.class === 'limit';
  const wait = useSecondsUntil(failure.retry_at);
  const act = (path: string, done = '') => {
    setBusy(true);
    setSaid('');
    request(path, { body: {} })
      .then(() => setSaid(done), (error: unknown) => setSaid(sentence(error)))
      .finally(() => setBusy(false));
  };
  return (
    <div role="group" aria-label="What went wrong" className="mt-3 rounded-xl border border-line bg-bad-soft p-3 text-sm" data-failure={failure.class}>
      <p className="font-medium text-bad">{failure.sentence}</p>
      {failure.detail && <p className="mt-1 font-mono text-xs break-words text-soft">{failure.detail}</p>}
      {interrupted && <Lost message={interrupted} />}
      <div className="mt-2 flex flex-wrap items-center gap-2">
        <Badge tone="bad">{failure.class.replaceAll('_', ' ')}</Badge>
        {(failure.attempts ?? 0) > 1 && <Badge>{failure.attempts} attempts</Badge>}
        {turn && (
          <Button look="primary" disabled={busy} onClick={() => act(`/v1/turns/${turn}/${limited ? 'continue' : 'retry'}`)}>
            <RotateCcw size={13} aria-hidden /> {limited ? 'Continue' : 'Try again'}
          </Button>
        )}
        {turn && (REMEDIES[failure.class] ?? []).map((remedy) => <Help key={remedy} remedy={remedy} session={session} busy={busy} act={act} />)}
      </div>
      {wait > 0 && turn && <p className="mt-2 text-xs text-soft">The provider asks you to wait {wait} s more, until {fullTime(failure.retry_at)}.</p>}
      {said && (
        <p role="status" className="mt-2 text-soft">
          {said}
        </p>
      )}
    </div>
  );
}

function priceOf({ cost, estimated, usage }: Call): string {
  if (estimated) return `The provider had no chance to report what this attempt cost. It counts as an estimate${cost === null ? '' : `, ${money(cost)}`}; the provider may charge more or less. Another attempt costs again.`;
  if (cost === null || usage.input_tokens === null) return 'The provider had no chance to report what this attempt cost: it is in no sum here, and may be charged all the same. Another attempt costs again.';
  return `This attempt cost ${money(cost)}; another attempt costs again.`;
}

// Lost says what an interrupted call cost, as far as anybody knows.
function Lost({ message }: { message: Message }) {
  const calls = useQuery(callsOf(message.session_id));
  const call = calls.data?.find((one) => one.message_id === message.id);
  if (!call) return null;
  return (
    <p className="mt-1 text-soft" data-lost>
      {priceOf(call)}{' '}
      <Link to="/c/$id/inspect" params={{ id: message.session_id }} search={{ row: `call-${call.id}` }} className="text-accent underline underline-offset-2">
        Inspect the call
      </Link>
    </p>
  );
}

function Help({ remedy, session, busy, act }: { remedy: Remedy; session: ID; busy: boolean; act: (path: string, done: string) => void }) {
  const navigate = useNavigate();
  const choose = () => {
    const choice = document.getElementById('model-choice');
    if (choice) choice.focus();
    else void navigate({ to: '/c/$id', params: { id: session } }); // the choice is there
  };
  switch (remedy) {
    case 'providers':
      return (
        <Link to="/settings/$section" params={{ section: 'providers' }} className={LINK}>
          Providers and keys
        </Link>
      );
    case 'model':
      return (
        <Button onClick={choose}>Choose another model</Button>
      );
    case 'summary':
      return (
        <Button onClick={() => summarise(session)}>
          Summarise…
        </Button>
      );
    case 'clear':
      return (
        <Button disabled={busy} onClick={() => act(`/v1/sessions/${session}/clear`, 'The context is empty from the next message on.')}>
          Clear the context
        </Button>
      );
    default:
      return (
        <Link to="/c/$id/inspect" params={{ id: session }} className={LINK}>
          Inspect the calls
        </Link>
      );
  }
}

function useSecondsUntil(at: string | null): number {
  const [now, setNow] = useState(Date.now);
  const left = at ? Math.ceil((Date.parse(at) - now) / 1_000) : 0;
  useEffect(() => {
    if (left <= 0) return;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [left > 0]); // oxlint-disable-line exhaustive-deps -- while there is something to wait for
  return left;
}
