import { useQuery } from '@tanstack/react-query';
import { KeyRound } from 'lucide-react';
import { useState } from 'react';
import { sentence } from '../api/http';
import { toolServerList } from '../api/queries';
import type { Agent, ToolServer } from '../api/types';
import { useRole } from '../components/role';
import { Button, cx } from '../components/ui';
import { begin, waiting } from './authorizing';

// Authorize leads an admin to where a tool server is authorized for the workspace; others are told who can.
export function Authorize({ server, again }: { server: string; again?: boolean }) {
  const role = useRole();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  if (role === undefined) return null;
  if (role !== 'admin') return again ? null : <span className="text-sm text-soft">An admin of this workspace can authorize it.</span>;
  return (
    <>
      <Button
        look={again ? 'plain' : 'primary'}
        disabled={busy}
        aria-label={`${again ? 'Authorize again' : 'Authorize'}: ${server}`}
        onClick={() => {
          setBusy(true);
          setError('');
          begin(server).catch((failure: unknown) => {
            setError(sentence(failure));
            setBusy(false);
          });
        }}
      >
        <KeyRound size={14} aria-hidden /> {again ? 'Authorize again' : 'Authorize'}
      </Button>
      {error && (
        <span role="alert" className="text-sm [overflow-wrap:anywhere] text-bad">
          {error}
        </span>
      )}
    </>
  );
}

// useUnauthorized are the tool servers of an agent that wait for a person.
export function useUnauthorized(agent: Agent | undefined): ToolServer[] {
  const tools = (agent?.tools ?? []).flatMap((tool) => (typeof tool === 'string' ? [tool] : []));
  const servers = useQuery({ ...toolServerList(), enabled: tools.some((tool) => tool.includes('__')) });
  return waiting(servers.data ?? [], tools);
}

// Unauthorized says which those are.
export function Unauthorized({ agent, className }: { agent: Agent | undefined; className: string }) {
  const found = useUnauthorized(agent);
  if (found.length === 0) return null;
  return (
    <ul aria-label="Tool servers to authorize" className={cx('space-y-1 text-sm', className)}>
      {found.map(({ name }) => (
        <li key={name} className="flex flex-wrap items-center gap-2 rounded-lg border border-line bg-warn-soft px-3 py-2">
          <span className="min-w-0 flex-1">
            The tool server <span className="font-mono text-[13px]">{name}</span> needs to be authorized before {agent?.name} can use its tools.
          </span>
          <Authorize server={name} />
        </li>
      ))}
    </ul>
  );
}
