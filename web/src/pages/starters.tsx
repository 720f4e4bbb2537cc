import { useNavigate } from '@tanstack/react-router';
import { Brain, Hand, RotateCcw, Wrench } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { request, sentence } from '../api/http';
import type { Session } from '../api/types';
import { writeOn } from '../chat/focus';
import { feed } from '../live/feed';

interface Starter {
  icon: ReactNode;
  name: string;
  about: string;
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

// Starters begin conversations with the simulator that show what Parley does, for people
// without a key.
export function Starters() {
  const navigate = useNavigate();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  const begin = ({ model, text, more }: Starter) => {
    setBusy(true);
    request<Session>('/v1/sessions', { key: crypto.randomUUID(), body: { model, ...more, client_id: `page-${feed.tab}`, message: { role: 'user', content: { text } } } }).then(
      (session) => {
        writeOn();
        void navigate({ to: '/c/$id', params: { id: session.id } });
      },
      (failure: unknown) => {
        setError(sentence(failure));
        setBusy(false);
      },
    );
  };
  return (
    <section aria-label="Try it with the simulator" className="mx-auto w-full max-w-3xl px-4 pb-6">
      <h2 className="mb-2 text-xs font-medium text-faint">Try it with the simulator: nothing leaves this machine, and nothing is charged</h2>
      <ul className="grid gap-2 sm:grid-cols-2">
        {STARTERS.map((starter) => (
          <li key={starter.model}>
            <button type="button" disabled={busy} onClick={() => begin(starter)} className="flex h-full w-full items-start gap-3 rounded-xl border border-line bg-raised p-3 text-left transition-colors hover:border-line-strong hover:bg-hover">
              <span aria-hidden className="mt-0.5 text-accent">
                {starter.icon}
              </span>
              <span>
                <span className="block text-sm font-medium">{starter.name}</span>
                <span className="mt-0.5 block text-xs text-soft">{starter.about}</span>
              </span>
            </button>
          </li>
        ))}
      </ul>
      {error && (
        <p role="alert" className="mt-2 text-sm text-bad">
          {error}
        </p>
      )}
    </section>
  );
}
