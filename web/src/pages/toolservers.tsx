import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { Plug } from 'lucide-react';
import { useEffect, useState } from 'react';
import { sentence } from '../api/http';
import { toolServerList } from '../api/queries';
import type { ToolServer } from '../api/types';
import { fullTime } from '../components/format';
import { useRole } from '../components/role';
import { Badge, Button, Dialog, Empty, Failed, Loading } from '../components/ui';
import { Authorize } from '../toolservers/authorize';
import { finish, type Finished, forget } from '../toolservers/authorizing';

const LOOK_MS = 3_000; // a server connects at any time

const STATES: Record<ToolServer['state'], { name: string; tone: 'good' | 'plain' | 'warn' | 'bad' }> = {
  connected: { name: 'connected', tone: 'good' },
  connecting: { name: 'connecting…', tone: 'plain' },
  away: { name: 'away', tone: 'warn' },
  unauthorized: { name: 'refuses Parley', tone: 'bad' },
};

// ToolServers lists the servers that tools come from, and what to do about those that cannot be used. The answer of an
// authorization comes back here.
export function ToolServers() {
  const servers = useQuery({ ...toolServerList(), refetchInterval: LOOK_MS });
  const [finished, failure] = useAnswer();
  const [ending, setEnding] = useState<ToolServer | null>(null); // asks before it is forgotten
  return (
    <div className="space-y-5">
      <p className="max-w-prose text-sm text-soft">
        Agents take tools from these servers of the Model Context Protocol. They are configured in <Code>parley.yaml</Code>.
      </p>
      {finished && <Done finished={finished} />}
      {failure !== null && <Failed error={failure} />}
      {servers.isPending && <Loading what="tool servers" />}
      {servers.isError && <Failed error={servers.error} onRetry={() => void servers.refetch()} />}
      {servers.data?.length === 0 && (
        <Empty icon={<Plug size={28} />} title="No tool servers are configured.">
          Add them under <Code>mcp</Code> in <Code>parley.yaml</Code>, and restart Parley.
        </Empty>
      )}
      {!!servers.data?.length && (
        <ul aria-label="Tool servers" className="divide-y divide-line rounded-2xl border border-line">
          {servers.data.map((server) => (
            <One key={server.name} server={server} onForget={() => setEnding(server)} />
          ))}
        </ul>
      )}
      <Forget server={ending} onClose={() => setEnding(null)} />
    </div>
  );
}

// useAnswer passes on the answer in the address, if there is one, and takes it out of the address first: it holds a code.
function useAnswer(): [Finished | null, unknown] {
  const { state, code, iss, error } = useSearch({ from: '/settings/$section' });
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [finished, setFinished] = useState<Finished | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  useEffect(() => {
    if (state === undefined) return;
    void navigate({ to: '/settings/$section', params: { section: 'tool-servers' }, search: {}, replace: true });
    finish({ state, code, iss, error })
      .then(setFinished, setFailure)
      .finally(() => {
        for (const name of ['tool servers', 'tools']) void queries.invalidateQueries({ queryKey: [name] });
      });
    // oxlint-disable-next-line exhaustive-deps -- once for an answer
  }, [state]);
  return [finished, failure];
}

function Done({ finished: { server, from } }: { finished: Finished }) {
  return (
    <p role="status" className="rounded-xl border border-line bg-good-soft p-4 text-sm">
      <span className="font-medium text-good">{server.name} is authorized for this workspace.</span>{' '}
      {from && (
        <Link to={from} className="text-accent underline underline-offset-2">
          Back to where you were
        </Link>
      )}
    </p>
  );
}

function One({ server, onForget }: { server: ToolServer; onForget: () => void }) {
  const { name, state, tools, authorizable, authorized_by, authorized_at, reason, do: advice } = server;
  const admin = useRole() === 'admin';
  const needs = state === 'unauthorized' && authorizable;
  const look = needs ? { name: 'needs authorization', tone: 'warn' as const } : STATES[state];
  return (
    <li className="space-y-2 px-4 py-3 text-sm" data-tool-server={name}>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <span className="font-mono text-[13px] font-medium">{name}</span>
        <Badge tone={look.tone}>{look.name}</Badge>
        {tools > 0 && <span className="text-xs text-faint">{tools === 1 ? '1 tool' : `${tools} tools`}</span>}
        <span className="ml-auto flex flex-wrap items-center gap-2">
          {authorizable && <Authorize server={name} again={!needs} />}
          {authorized_by && admin && (
            <Button look="danger" aria-label={`Forget the authorization of ${name}`} onClick={onForget}>
              Forget
            </Button>
          )}
        </span>
      </div>
      {reason && (
        <p className="max-w-prose text-soft">
          {capital(reason)}. {needs ? 'Agents cannot use its tools until an admin has authorized it. From then on everybody in this workspace who may use such an agent acts with that admin’s account there.' : advice && <Advice text={advice} />}
        </p>
      )}
      {authorized_by && authorized_at && (
        <p className="text-xs text-faint">
          Authorized by {authorized_by.name} on {fullTime(authorized_at)}
        </p>
      )}
    </li>
  );
}

// Advice is a text with code between backticks.
function Advice({ text }: { text: string }) {
  return text.split('`').map((piece, at) => (at % 2 === 0 ? piece : <Code key={at}>{piece}</Code>));
}

function Code({ children }: { children: string }) {
  return <code className="rounded bg-sunken px-1 font-mono text-xs">{children}</code>;
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

function Forget({ server, onClose }: { server: ToolServer | null; onClose: () => void }) {
  const queries = useQueryClient();
  const [error, setError] = useState('');
  const end = (name: string) => {
    setError('');
    forget(name).then(
      () => {
        onClose();
        for (const list of ['tool servers', 'tools']) void queries.invalidateQueries({ queryKey: [list] });
      },
      (failure: unknown) => setError(sentence(failure)),
    );
  };
  return (
    <Dialog open={server !== null} onClose={onClose} title={`Forget the authorization of ${server?.name ?? ''}?`} about="Its tokens are deleted here, and agents of this workspace can no longer use its tools. The account there may list Parley until you remove it there, too.">
      {error && (
        <p role="alert" className="mb-3 text-sm text-bad">
          {error}
        </p>
      )}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Keep it</Button>
        <Button look="danger" onClick={() => server && end(server.name)}>
          Forget
        </Button>
      </div>
    </Dialog>
  );
}
