import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { agentVersion } from '../api/queries';
import type { Agent, ToolRef } from '../api/types';
import { fullTime } from '../components/format';
import { Badge, Failed, Loading } from '../components/ui';
import { diffLines, folded } from './diff';

// Versions compares two versions of an agent: those in the address, or the current one
// with the previous one.
export function Versions({ agent }: { agent: Agent }) {
  const search = useSearch({ from: '/agents/$id' });
  const navigate = useNavigate();
  const to = within(search.to, agent.version) ?? agent.version;
  const from = within(search.from, agent.version) ?? Math.max(1, to - 1);
  const before = useQuery(agentVersion(agent.id, from));
  const after = useQuery(agentVersion(agent.id, to));
  if (agent.version === 1) return null;
  const choose = (change: { from?: string; to?: string }) => void navigate({ to: '/agents/$id', params: { id: agent.id }, search: { ...search, from: String(from), to: String(to), ...change }, replace: true });
  const failed = before.isError ? before : after.isError ? after : null;
  return (
    <section className="mt-12 border-t border-line pt-6" aria-label="Versions">
      <div className="mb-4 flex flex-wrap items-center gap-x-3 gap-y-2">
        <h2 className="font-semibold">What changed</h2>
        <Version name="Earlier version" value={from} most={agent.version} onChoose={(version) => choose({ from: version })} />
        <span aria-hidden className="text-faint">
          →
        </span>
        <Version name="Later version" value={to} most={agent.version} onChoose={(version) => choose({ to: version })} />
        {after.data && <span className="text-xs text-faint">{fullTime(after.data.updated_at)}</span>}
      </div>
      {failed && <Failed error={failed.error} onRetry={() => void failed.refetch()} />}
      {!failed && (before.isPending || after.isPending) && <Loading what="the versions" />}
      {before.data && after.data && <Changes before={before.data} after={after.data} />}
    </section>
  );
}

function within(text: string | undefined, most: number): number | undefined {
  const version = Number(text);
  return Number.isInteger(version) && version >= 1 && version <= most ? version : undefined;
}

function Version({ name, value, most, onChoose }: { name: string; value: number; most: number; onChoose: (version: string) => void }) {
  return (
    <select aria-label={name} value={value} onChange={(event) => onChoose(event.target.value)} className="h-8 rounded-lg border border-line-strong bg-bg px-2 text-sm">
      {Array.from({ length: most }, (_, i) => most - i).map((version) => (
        <option key={version} value={version}>
          version {version}
        </option>
      ))}
    </select>
  );
}

const ALWAYS = new Set(['id', 'version', 'created_at', 'updated_at', 'workspace_id', 'system_prompt', 'tools']);

// Changes shows the fields that differ: the prompt by lines, tools by name, others by value.
function Changes({ before, after }: { before: Agent; after: Agent }) {
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => !ALWAYS.has(name));
  const valueOf = (agent: Agent, name: string) => written((agent as unknown as Record<string, unknown>)[name]);
  const changed = fields.filter((name) => valueOf(before, name) !== valueOf(after, name));
  const tools = toolChanges(before.tools, after.tools);
  if (changed.length === 0 && tools.length === 0 && before.system_prompt === after.system_prompt) return <p className="text-sm text-soft">Nothing: the two versions are the same.</p>;
  return (
    <dl className="divide-y divide-line rounded-xl border border-line text-sm">
      {before.system_prompt !== after.system_prompt && (
        <Change name="system prompt">
          <Lines before={before.system_prompt} after={after.system_prompt} />
        </Change>
      )}
      {tools.length > 0 && (
        <Change name="tools">
          <ul className="flex flex-wrap gap-1.5">
            {tools.map(({ sign, name }) => (
              <li key={name}>
                <Badge tone={sign === '+' ? 'good' : sign === '−' ? 'bad' : 'warn'}>
                  {sign} {name}
                </Badge>
              </li>
            ))}
          </ul>
        </Change>
      )}
      {changed.map((name) => (
        <Change key={name} name={name.replaceAll('_', ' ')}>
          <p className="font-mono text-xs [overflow-wrap:anywhere]">
            <del className="rounded bg-bad-soft px-1 text-bad">{valueOf(before, name)}</del> <span aria-hidden>→</span> <ins className="rounded bg-good-soft px-1 text-good no-underline">{valueOf(after, name)}</ins>
          </p>
        </Change>
      ))}
    </dl>
  );
}

function Change({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div className="flex gap-x-4 gap-y-1 px-3 py-2.5 max-sm:flex-col">
      <dt className="w-36 shrink-0 text-soft">{name}</dt>
      <dd className="min-w-0 flex-1">{children}</dd>
    </div>
  );
}

// Lines shows the lines that differ, with their surroundings.
function Lines({ before, after }: { before: string; after: string }) {
  return (
    <pre tabIndex={0} aria-label="Lines that changed" className="max-h-96 overflow-auto rounded-lg bg-code p-2 font-mono text-xs leading-relaxed whitespace-pre-wrap [overflow-wrap:anywhere]">
      {folded(diffLines(before.split('\n'), after.split('\n'))).map((line, i) => (
        <span key={i} className={LOOKS[line.kind]}>
          {SIGNS[line.kind]} {line.text || ' '}
        </span>
      ))}
    </pre>
  );
}

const LOOKS = { added: 'block bg-good-soft text-good', removed: 'block bg-bad-soft text-bad', same: 'block text-soft', skipped: 'block text-faint' };
const SIGNS = { added: '+', removed: '−', same: ' ', skipped: '⋯' };

function written(value: unknown): string {
  if (value === null || value === undefined || value === '') return 'not set';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function toolChanges(before: ToolRef[], after: ToolRef[]): { sign: string; name: string }[] {
  const nameOf = (tool: ToolRef) => (typeof tool === 'string' ? tool : tool.name);
  const was = new Map(before.map((tool) => [nameOf(tool), JSON.stringify(tool)]));
  const is = new Map(after.map((tool) => [nameOf(tool), JSON.stringify(tool)]));
  const names = [...new Set([...was.keys(), ...is.keys()])].sort();
  return names.filter((name) => was.get(name) !== is.get(name)).map((name) => ({ name, sign: !was.has(name) ? '+' : !is.has(name) ? '−' : '~' }));
}
