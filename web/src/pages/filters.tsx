import { useQuery } from '@tanstack/react-query';
import { X } from 'lucide-react';
import { useState } from 'react';
import { agentList, projectList, sessionOf, toolList } from '../api/queries';
import type { SearchChoice } from '../api/search';
import { Button, cx, Input, Select } from '../components/ui';
import { titleOf } from '../components/title';

const FILTERS = ['in', 'role', 'agent', 'project', 'tool', 'from', 'to', 'archived'] as const;

const ROLES: [string, string][] = [
  ['user', 'People'],
  ['assistant', 'Agents'],
  ['tool_call', 'Tool calls'],
  ['tool_result', 'Tool results'],
  ['summary', 'Summaries'],
];

// unfiltered reports whether a search has no filters.
export function unfiltered(choice: SearchChoice): boolean {
  return FILTERS.every((name) => !choice[name]);
}

// Filters narrow a search; the address holds them.
export function Filters({ choice, onChange }: { choice: SearchChoice; onChange: (change: SearchChoice) => void }) {
  const agents = useQuery(agentList('any'));
  const projects = useQuery(projectList());
  const tools = useQuery(toolList());
  const pick = (name: 'role' | 'agent' | 'project' | 'tool' | 'archived', label: string, all: string, options: [string, string][]) => (
    <Choice label={label} value={choice[name] ?? ''} all={all} options={options} onChange={(value) => onChange({ [name]: value || undefined })} />
  );
  return (
    <div role="group" aria-label="Filters" className="mt-3 grid grid-cols-2 items-center gap-2 sm:flex sm:flex-wrap">
      {choice.in && <Within id={choice.in} onWiden={() => onChange({ in: undefined })} />}
      {pick('role', 'Who said it', 'Everybody', ROLES)}
      {pick('agent', 'Agent', 'All agents', (agents.data ?? []).map((one) => [one.id, one.name]))}
      {(choice.project || (projects.data?.length ?? 0) > 0) && pick('project', 'Project', 'All projects', (projects.data ?? []).map((one) => [one.id, one.name]))}
      {pick('tool', 'Tool', 'All tools', (tools.data?.data ?? []).filter((one) => one.source !== 'runtime' && !one.name.endsWith('*')).map((one) => [one.name, one.name]))}
      {pick('archived', 'Archived conversations', 'Any state', [
        ['false', 'Active'],
        ['true', 'Archived'],
      ])}
      <When choice={choice} onChange={onChange} />
      {!unfiltered(choice) && (
        <Button look="quiet" onClick={() => onChange(Object.fromEntries(FILTERS.map((name) => [name, undefined])))}>
          Clear filters
        </Button>
      )}
    </div>
  );
}

function Within({ id, onWiden }: { id: string; onWiden: () => void }) {
  const session = useQuery(sessionOf(id));
  return (
    <Button onClick={onWiden} className="col-span-2 h-9 max-w-full sm:max-w-64" aria-label="Search every conversation">
      <span className="truncate">In {session.data ? titleOf(session.data, 'one conversation') : 'one conversation'}</span> <X size={14} aria-hidden className="shrink-0" />
    </Button>
  );
}

// Choice is one filter: a value, or all.
export function Choice({ label, value, all, options, onChange }: { label: string; value: string; all: string; options: [string, string][]; onChange: (value: string) => void }) {
  return (
    <Select aria-label={label} value={value} onChange={(event) => onChange(event.target.value)} className={cx('truncate sm:w-36', value ? 'font-medium' : 'text-soft')}>
      <option value="">{all}</option>
      {value && !options.some(([key]) => key === value) && <option value={value}>{value}</option>}
      {options.map(([key, name]) => (
        <option key={key} value={key}>
          {name}
        </option>
      ))}
    </Select>
  );
}

const BETWEEN = 'between';
const SPANS: [string, string][] = [
  ['1', 'Today'],
  ['7', 'Past 7 days'],
  ['30', 'Past 30 days'],
  ['365', 'Past year'],
  [BETWEEN, 'Between…'],
];

// dayAgo is the day a number of days before tomorrow, by the person's calendar.
function dayAgo(days: number): string {
  const now = new Date();
  const day = new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1 - days);
  return [day.getFullYear(), day.getMonth() + 1, day.getDate()].map((n) => String(n).padStart(2, '0')).join('-');
}

function When({ choice, onChange }: { choice: SearchChoice; onChange: (change: SearchChoice) => void }) {
  const [between, setBetween] = useState(false);
  const span = !choice.to && SPANS.find(([days]) => days !== BETWEEN && dayAgo(Number(days)) === choice.from)?.[0];
  const dated = Boolean(choice.from || choice.to);
  const value = between || (dated && !span) ? BETWEEN : span || '';
  const day = (name: 'from' | 'to', label: string) => (
    <Input type="date" aria-label={label} value={choice[name] ?? ''} onChange={(event) => onChange({ [name]: event.target.value || undefined })} className="sm:w-36" />
  );
  return (
    <>
      <Choice
        label="When"
        value={value}
        all="Any time"
        options={SPANS}
        onChange={(chosen) => {
          setBetween(chosen === BETWEEN);
          if (chosen !== BETWEEN) onChange({ from: chosen ? dayAgo(Number(chosen)) : undefined, to: undefined });
        }}
      />
      {value === BETWEEN && (
        <>
          {day('from', 'From this day on')}
          {day('to', 'Up to this day')}
        </>
      )}
    </>
  );
}
