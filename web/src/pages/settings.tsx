import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { Check, Compass, KeyRound, Moon, Sun, SunMoon } from 'lucide-react';
import { Suspense, useEffect, useState } from 'react';
import { request, sentence } from '../api/http';
import { keyList, modelList, principal, providerList } from '../api/queries';
import type { Key, ModelInfo } from '../api/types';
import { compact, fullTime } from '../components/format';
import { keepFreshKey } from '../components/freshkey';
import { signOut } from '../components/person';
import { Secret } from '../components/secret';
import { ShortcutTable } from '../components/shortcutlist';
import { titled } from '../components/tab';
import { choose, type Theme, useTheme } from '../components/theme';
import { part } from '../live/arrive';
import { Badge, Button, cx, Dialog, Empty, Failed, Input, Loading, Page, Select } from '../components/ui';

const ImportFiles = part(() => import('./importfiles'), 'ImportFiles');
const ToolServers = part(() => import('./toolservers'), 'ToolServers');
const WorkspaceSettings = part(() => import('./workspace'), 'WorkspaceSettings');
const SignIns = part(() => import('./signinlist'), 'SignIns');

const SECTIONS = [
  ['models', 'Models'],
  ['providers', 'Providers'],
  ['tool-servers', 'Tool servers'],
  ['keys', 'Keys'],
  ['workspace', 'Workspace'],
  ['import', 'Import'],
  ['appearance', 'Appearance'],
  ['shortcuts', 'Shortcuts'],
] as const;

export function SettingsPage() {
  const { section } = useParams({ from: '/settings/$section' });
  const name = SECTIONS.find(([key]) => key === section)?.[1] ?? 'No such settings';
  useEffect(() => {
    titled(`${name} – Parley`);
  }, [name]);
  return (
    <Page wide title="Settings">
      <nav aria-label="Settings" className="mb-6 flex gap-1 overflow-x-auto border-b border-line">
        {SECTIONS.map(([key, label]) => (
          <Link
            key={key}
            to="/settings/$section"
            params={{ section: key }}
            className={cx('border-b-2 px-3 py-2 text-sm', key === section ? 'border-accent font-medium' : 'border-transparent text-soft hover:text-text')}
            aria-current={key === section ? 'page' : undefined}
          >
            {label}
          </Link>
        ))}
      </nav>
      {section === 'models' && <Models />}
      {section === 'providers' && <Providers />}
      {section === 'tool-servers' && (
        <Suspense>
          <ToolServers />
        </Suspense>
      )}
      {section === 'keys' && <Keys />}
      {section === 'workspace' && (
        <Suspense>
          <WorkspaceSettings />
        </Suspense>
      )}
      {section === 'import' && (
        <Suspense>
          <ImportFiles />
        </Suspense>
      )}
      {section === 'appearance' && <Appearance />}
      {section === 'shortcuts' && <ShortcutTable />}
      {SECTIONS.every(([key]) => key !== section) && (
        <Empty icon={<Compass size={28} />} title="These settings do not exist.">
          Choose one of the sections above.
        </Empty>
      )}
    </Page>
  );
}

const ABILITIES: [keyof ModelInfo, string][] = [
  ['reasoning', 'reasoning'],
  ['tools', 'tools'],
  ['vision', 'vision'],
  ['search', 'search'],
  ['caching', 'caching'],
];

function Models() {
  const models = useQuery(modelList());
  if (models.isPending) return <Loading what="models" />;
  if (models.isError) return <Failed error={models.error} onRetry={() => void models.refetch()} />;
  return (
    <div className="overflow-x-auto" tabIndex={0} role="region" aria-label="Models">
      <table className="w-full text-left text-sm max-sm:block sm:min-w-160">
        <thead className="border-b border-line text-xs text-faint max-sm:sr-only">
          <tr>
            <th className="py-2 pr-4 font-medium">Model</th>
            <th className="pr-4 font-medium">Capabilities</th>
            <th className="pr-4 text-right font-medium">Context</th>
            <th className="text-right font-medium">Price per million tokens, in / cached / out</th>
          </tr>
        </thead>
        <tbody className="divide-y divide-line max-sm:block">
          {models.data.data.map((model) => (
            <tr key={model.id} className="max-sm:block max-sm:py-2.5">
              <td className="py-2 pr-4 max-sm:block max-sm:py-0.5">
                <span className="font-mono text-[13px]">{model.id}</span> {model.simulator && <Badge tone="warn">simulator</Badge>}{' '}
                {model.id === models.data.default && <Badge tone="accent">default</Badge>}
              </td>
              <td className="pr-4 max-sm:block max-sm:py-0.5">
                <span className="flex flex-wrap gap-1">
                  {ABILITIES.filter(([key]) => model[key]).map(([, label]) => (
                    <Badge key={label}>{label}</Badge>
                  ))}
                </span>
              </td>
              <td className="pr-4 text-right max-sm:block max-sm:text-left">
                <span className="text-faint sm:hidden">Context </span>
                {model.context_length ? compact(model.context_length) : 'unknown'}
              </td>
              <td className="text-right max-sm:block max-sm:text-left">
                <span className="text-faint sm:hidden">Price </span>
                {model.price ? `$${model.price.input} / $${model.price.cached_input} / $${model.price.output}` : 'unknown'}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Providers() {
  const providers = useQuery(providerList());
  if (providers.isPending) return <Loading what="providers" />;
  if (providers.isError) return <Failed error={providers.error} onRetry={() => void providers.refetch()} />;
  return (
    <ul className="divide-y divide-line rounded-2xl border border-line">
      {providers.data.data.map((provider) => (
        <li key={provider.name} className="flex flex-wrap items-center gap-3 px-4 py-3 text-sm">
          <span className="font-medium">{provider.name}</span>
          {provider.simulator && <Badge tone="warn">simulator</Badge>}
          {provider.configured ? (
            <Badge tone="good">
              <Check size={12} aria-hidden /> ready
            </Badge>
          ) : (
            <span className="text-soft">
              Set <code className="rounded bg-sunken px-1 font-mono text-xs">{provider.key_env}</code> in the server’s environment to use it.
            </span>
          )}
          <span className="ml-auto text-xs text-faint">{provider.models > 0 ? `${provider.models} models known` : ''}</span>
        </li>
      ))}
    </ul>
  );
}

function Keys() {
  const { data: me } = useQuery(principal());
  return (
    <div className="space-y-5">
      {me && (
        <p className="flex flex-wrap items-center gap-3 text-sm">
          You are {me.name} <Badge>{me.role}</Badge> in the workspace {me.workspace}.
          {me.sign_in_id && <Button onClick={signOut}>Sign out</Button>}
        </p>
      )}
      {me?.role === 'admin' && <KeyList />}
      {me && me.role !== 'admin' && (
        <Empty icon={<KeyRound size={28} />} title="Admins create keys.">
          For a key with another role, or for somebody else, ask an admin of this workspace.
        </Empty>
      )}
      <Suspense>
        <SignIns />
      </Suspense>
    </div>
  );
}

function KeyList() {
  const queries = useQueryClient();
  const keys = useQuery(keyList());
  const [name, setName] = useState('');
  const [chosen, setRole] = useState('member');
  const [secret, setSecret] = useState('');
  const [ending, setEnding] = useState<Key | null>(null); // asks before it is revoked
  const [error, setError] = useState('');
  const { data: me } = useQuery(principal());
  const first = keys.data !== undefined && keys.data.every((key) => key.revoked_at); // it closes the server to everybody without a key
  const role = first ? 'admin' : chosen; // else nobody could make more of them
  const again = () => void queries.invalidateQueries({ queryKey: ['keys'] });
  const make = () => {
    setError('');
    request<{ key: string }>('/v1/keys', { body: { name, role } }).then(
      (made) => {
        if (first) return keepFreshKey(made.key);
        setSecret(made.key);
        setName('');
        again();
      },
      (failure: unknown) => setError(sentence(failure)),
    );
  };
  const revoke = (key: Key) => {
    setEnding(null);
    setError('');
    request(`/v1/keys/${key.id}`, { method: 'DELETE' }).then(again, (failure: unknown) => setError(sentence(failure)));
  };
  return (
    <>
      <p className="max-w-prose text-sm text-soft">{first ? 'Nobody needs a key yet. From the first one on every request needs one: you are shown it once, and sign in with it.' : 'Every request needs a key. A key is shown only once, when it is created.'}</p>
      <form
        className="flex flex-wrap items-end gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          make();
        }}
      >
        <label className="text-sm">
          <span className="mb-1 block font-medium">Name</span>
          <Input value={name} onChange={(event) => setName(event.target.value)} required maxLength={100} />
        </label>
        <label className="text-sm">
          <span className="mb-1 block font-medium">Role</span>
          <Select value={role} disabled={first} onChange={(event) => setRole(event.target.value)}>
            {['admin', 'member', 'reader'].map((one) => (
              <option key={one}>{one}</option>
            ))}
          </Select>
        </label>
        <Button look="primary" type="submit" disabled={name.trim() === '' || keys.data === undefined}>
          Create a key
        </Button>
      </form>
      {secret && (
        <div role="status" className="rounded-xl border border-line bg-good-soft p-4 text-sm">
          <p className="font-medium text-good">Copy it now: it is not shown again.</p>
          <Secret text={secret} />
        </div>
      )}
      {error && <Failed error={new Error(error)} />}
      {keys.isPending && <Loading what="keys" />}
      {keys.isError && <Failed error={keys.error} />}
      {keys.data?.length === 0 && <Empty icon={<KeyRound size={28} />} title="No keys yet: the server admits only its own user on this machine." />}
      <ul className="divide-y divide-line">
        {keys.data?.map((key) => (
          <li key={key.id} className="flex flex-wrap items-center gap-3 py-2.5 text-sm">
            <span className="font-medium">{key.name}</span>
            <Badge>{key.role}</Badge>
            <code className="font-mono text-xs text-faint">{key.prefix}…</code>
            <span className="ml-auto text-xs text-faint">{fullTime(key.created_at)}</span>
            {key.revoked_at ? (
              <Badge tone="bad">revoked</Badge>
            ) : (
              <Button look="danger" aria-label={`Revoke ${key.name}`} onClick={() => setEnding(key)}>
                Revoke
              </Button>
            )}
          </li>
        ))}
      </ul>
      <Dialog
        open={ending !== null}
        onClose={() => setEnding(null)}
        title={`Revoke ${ending?.name ?? ''}?`}
        about={`Everything that uses this key is refused immediately, and browsers that signed in with it are signed out.${ending && ending.principal_id === me?.id ? ' It is yours: you may need another one.' : ''}`}
      >
        <div className="flex justify-end gap-2">
          <Button onClick={() => setEnding(null)}>Keep it</Button>
          <Button look="danger" onClick={() => ending && revoke(ending)}>
            Revoke
          </Button>
        </div>
      </Dialog>
    </>
  );
}

const THEMES: [Theme, string, typeof Sun][] = [
  ['light', 'Light', Sun],
  ['dark', 'Dark', Moon],
  ['system', 'Match the system', SunMoon],
];

function Appearance() {
  const theme = useTheme();
  return (
    <div role="radiogroup" aria-label="Theme" className="flex flex-wrap gap-3">
      {THEMES.map(([key, label, Icon]) => (
        <button
          key={key}
          type="button"
          role="radio"
          aria-checked={theme === key}
          onClick={() => choose(key)}
          className={cx('flex w-40 flex-col items-center gap-2 rounded-2xl border p-5 text-sm', theme === key ? 'border-accent bg-accent-soft font-medium' : 'border-line hover:bg-raised')}
        >
          <Icon size={22} aria-hidden /> {label}
        </button>
      ))}
    </div>
  );
}
