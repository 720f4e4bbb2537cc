import { Link, useNavigate } from '@tanstack/react-router';
import { Brain, FileText, Hand, RotateCcw, Users, Wrench } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { request, sentence } from '../api/http';
import type { PipelineRun, Session } from '../api/types';
import { writeOn } from '../chat/focus';
import { feed } from '../live/feed';

interface Card {
  icon: ReactNode;
  name: string;
  about: string;
}

interface Starter extends Card {
  model: string;
  text: string;
  more?: Record<string, unknown>; // of the session
}

const STARTERS: Starter[] = [
  {
    icon: <Wrench size={16} />,
    name: 'Watch it use a tool, and approve it',
    about: 'It wants to read the clock and asks you first.',
    model: 'sim/tool',
    text: 'What time is it?',
    more: { tools: ['current_time'], grants: [{ tool: 'current_time', effect: 'ask' }] },
  },
  { icon: <Hand size={16} />, name: 'Watch a long answer, and stop it', about: 'It streams for a minute. Stop it, or say something meanwhile.', model: 'sim/lorem-1500-40', text: 'Tell me something long' },
  { icon: <Brain size={16} />, name: 'Watch it think first', about: 'Its reasoning comes before the answer, folded.', model: 'sim/reason', text: 'Why is the sky blue?' },
  { icon: <RotateCcw size={16} />, name: 'Watch it fail, and try again', about: 'The provider cannot be reached twice; the third attempt succeeds.', model: 'sim/fail-network-2-2500', text: 'Are you there?' },
];

const TEAM: Card = { icon: <Users size={16} />, name: 'Watch a team work on its own', about: 'A lead hands work to four agents, they ask and report, and what they find comes to your inbox.' };

const BOOK: Card = { icon: <FileText size={16} />, name: 'Watch a book being written', about: 'Ideas become an outline, chapters and a summary, and each sentence leads back to what wrote it.' };

// Starters begin conversations with the simulator that show what Parley does, for people
// without a key.
export function Starters() {
  const navigate = useNavigate();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  const start = (going: Promise<void>) => {
    setBusy(true);
    going.catch((failure: unknown) => {
      setError(sentence(failure));
      setBusy(false);
    });
  };
  const begin = async ({ model, text, more }: Starter) => {
    const session = await request<Session>('/v1/sessions', { key: crypto.randomUUID(), body: { model, ...more, client_id: `page-${feed.tab}`, message: { role: 'user', content: { text } } } });
    writeOn();
    void navigate({ to: '/c/$id', params: { id: session.id } });
  };
  const assemble = async () => {
    const team = await request<{ slug: string }>('/v1/teams/example', { method: 'POST' });
    void navigate({ href: `/team/${team.slug}` });
  };
  const write = async () => {
    const run = await request<PipelineRun>('/v1/pipeline-runs/example', { key: crypto.randomUUID(), method: 'POST' });
    void navigate({ to: '/runs/$id', params: { id: run.id } });
  };
  return (
    <section aria-label="Try it with the simulator" className="mx-auto w-full max-w-3xl px-4 pb-6">
      <h2 className="mb-2 text-xs font-medium text-faint">Try it with the simulator: nothing leaves this machine, and nothing is charged</h2>
      <ul className="grid gap-2 sm:grid-cols-2">
        {STARTERS.map((starter) => (
          <li key={starter.model}>
            <CardButton {...starter} disabled={busy} onClick={() => start(begin(starter))} />
          </li>
        ))}
        <li>
          <CardButton {...TEAM} disabled={busy} onClick={() => start(assemble())} />
        </li>
        <li>
          <CardButton {...BOOK} disabled={busy} onClick={() => start(write())} />
        </li>
      </ul>
      <p className="mt-2 text-xs text-faint">
        What agents have for you while you are away waits in your{' '}
        <Link to="/inbox" className="text-accent underline">
          inbox
        </Link>
        .
      </p>
      {error && (
        <p role="alert" className="mt-2 text-sm text-bad">
          {error}
        </p>
      )}
    </section>
  );
}

function CardButton({ icon, name, about, disabled, onClick }: Card & { disabled: boolean; onClick: () => void }) {
  return (
    <button type="button" disabled={disabled} onClick={onClick} className="flex h-full w-full items-start gap-3 rounded-xl border border-line bg-raised p-3 text-left transition-colors hover:border-line-strong hover:bg-hover">
      <span aria-hidden className="mt-0.5 text-accent">
        {icon}
      </span>
      <span>
        <span className="block text-sm font-medium">{name}</span>
        <span className="mt-0.5 block text-xs text-soft">{about}</span>
      </span>
    </button>
  );
}
