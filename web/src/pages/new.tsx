import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { BookOpen } from 'lucide-react';
import { Suspense, useEffect, useState } from 'react';
import { agentList, modelList, principal, projectList } from '../api/queries';
import { CHOICES } from '../api/choices';
import { useAbilities } from '../chat/abilities';
import { Composer } from '../chat/composer';
import { writeOn } from '../chat/focus';
import { useReader } from '../components/role';
import { titled } from '../components/tab';
import { Badge, Empty } from '../components/ui';
import { part } from '../live/arrive';
import { feed } from '../live/feed';
import { Starters } from './starters';
import { Unauthorized } from '../toolservers/authorize';

const KEY = 'parley.new'; // the last choices, so that they survive a reload without the address

const DirectoryDialog = part(() => import('../projects/directory'), 'DirectoryDialog');
const OTHER = 'directory'; // the project option that opens the directory dialog

type Choice = { project?: string; agent?: string; model?: string; effort?: string };

export function NewPage() {
  const choice = useSearch({ from: '/new' });
  const navigate = useNavigate();
  const agents = useQuery(agentList());
  const models = useQuery(modelList());
  const projects = useQuery(projectList());
  const reader = useReader();
  const chooses = useQuery(principal()).data?.may_choose_directories;
  const [looking, setLooking] = useState(false);
  useEffect(() => {
    titled('New conversation – Parley');
    if (Object.values(choice).some(Boolean)) return;
    const last = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Choice;
    if (Object.values(last).some(Boolean)) void navigate({ to: '/new', search: last, replace: true });
    // oxlint-disable-next-line exhaustive-deps -- once, at the start
  }, []);
  const choose = (change: Choice) => {
    const next = { ...choice, ...change };
    localStorage.setItem(KEY, JSON.stringify(next));
    void navigate({ to: '/new', search: next, replace: true });
  };
  const agent = agents.data?.find((one) => one.id === choice.agent || one.slug === choice.agent);
  const own = agent?.model ?? agents.data?.find((one) => one.slug === 'parley')?.model ?? models.data?.default ?? '';
  const modelID = choice.model || own;
  const model = models.data?.data.find((one) => one.id === modelID);
  const abilities = useAbilities(agent?.id ?? null, modelID);
  const unlisted: [string, string][] = choice.model && models.data && !model ? [[choice.model, choice.model]] : []; // known only to its provider
  if (reader) {
    return (
      <div className="mx-auto flex h-full max-w-xl flex-col justify-center px-4">
        <Empty icon={<BookOpen size={28} />} title="You have read access">
          Open a conversation from the list, or search everything that you can see. To start your own, ask an admin for a key with the role member.
        </Empty>
      </div>
    );
  }
  const simulator = model?.simulator ?? modelID.startsWith('sim/');
  return (
    <div className="flex h-full flex-col overflow-y-auto">
      <div className="flex flex-1 flex-col items-center justify-end px-4 pt-14 pb-8 text-center max-sm:pb-5">
        <img src="/icon.svg" alt="" className="mb-4 size-12 max-sm:hidden" />
        <h1 className="text-2xl font-semibold tracking-tight">What shall we talk about?</h1>
        <p className="mt-2 max-w-md text-sm text-soft">Everything is kept: each message, each model call, what the model saw and what it cost.</p>
        {simulator && (
          <p className="mt-3 flex max-w-md items-center gap-2 text-sm text-soft">
            <Badge tone="warn">simulator</Badge> Answers are made up. Set a provider’s key to talk to a model.
          </p>
        )}
      </div>
      <div className="mx-auto mb-2 flex w-full max-w-3xl flex-wrap gap-2 px-4">
        <Choose name="Agent" value={agent?.id ?? ''} onChange={(id) => choose({ agent: id || undefined })} none="Parley" options={(agents.data ?? []).filter((one) => one.slug !== 'parley').map((one) => [one.id, one.name])} />
        <Choose name="Model" value={choice.model ?? ''} onChange={(id) => choose({ model: id || undefined })} none={`Agent’s own: ${own || 'default'}`} options={[...unlisted, ...(models.data?.data ?? []).map((one): [string, string] => [one.id, one.simulator ? `${one.id} (simulator)` : one.id])]} />
        <Choose name="Project" value={choice.project ?? ''} onChange={(id) => (id === OTHER ? setLooking(true) : choose({ project: id || undefined }))} none="No project" options={[...(projects.data ?? []).map((one): [string, string] => [one.id, one.name]), ...(chooses ? [[OTHER, 'Choose a directory…'] as [string, string]] : [])]} />
        {(model?.reasoning || choice.effort) && <Choose name="Effort" value={choice.effort ?? ''} onChange={(effort) => choose({ effort: effort || undefined })} none="default effort" options={CHOICES.reasoning_effort.map((effort) => [effort, effort])} />}
      </div>
      {looking && (
        <Suspense>
          <DirectoryDialog open onClose={() => setLooking(false)} onChosen={(project) => choose({ project: project.id })} />
        </Suspense>
      )}
      <Unauthorized agent={agent} className="mx-auto mb-2 w-full max-w-3xl px-4" />
      <Composer
        draftKey="new"
        focused
        placeholder="Ask anything. Shift Enter starts a new line."
        session={null}
        abilities={abilities}
        post={({ content }) => ({
          path: '/v1/sessions',
          body: {
            agent_id: agent?.id,
            project_id: choice.project || undefined,
            model: choice.model || undefined,
            reasoning_effort: choice.effort || undefined,
            client_id: `page-${feed.tab}`,
            message: { role: 'user', content },
          },
        })}
        onSent={(session) => {
          if (!session) return;
          writeOn();
          void navigate({ to: '/c/$id', params: { id: session.id } });
        }}
      />
      <div className="flex-[0.7]">{simulator && <Starters />}</div>
    </div>
  );
}

function Choose({ name, value, onChange, none, options }: { name: string; value: string; onChange: (value: string) => void; none: string; options: [string, string][] }) {
  return (
    <label className="flex items-center gap-1.5 rounded-lg border border-line bg-raised pl-2.5 text-xs text-faint">
      {name}
      <select value={value} onChange={(event) => onChange(event.target.value)} className="h-8 max-w-52 truncate rounded-lg bg-transparent px-1 text-text">
        <option value="">{none}</option>
        {options.map(([id, label]) => (
          <option key={id} value={id}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}
