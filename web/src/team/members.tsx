import { Link } from '@tanstack/react-router';
import { CalendarClock, Hourglass, SquarePen } from 'lucide-react';
import type { Team, TeamMember } from '../api/types';
import { compact, fullTime, money } from '../components/format';
import { StatusDot, statusName } from '../components/status';
import { plainTitle } from '../components/title';
import { IconButton } from '../components/ui';
import { type Branch, KINDS, receiverOf, type Sent, treeOf, workSessions } from './words';

interface Props {
  team: Team;
  onTask?: (agent: string) => void; // absent: the person may not give tasks
}

// Members are the members of a team below their leads: what each does now, for whom it waits, and when it runs next.
export function Members({ team, onTask }: Props) {
  return (
    <section aria-labelledby="members">
      <h2 id="members" className="mb-2 font-semibold">
        Members
      </h2>
      <Level team={team} branches={treeOf(team.members)} onTask={onTask} />
    </section>
  );
}

function Level({ team, branches, onTask }: Props & { branches: Branch[] }) {
  return (
    <ul className="space-y-2">
      {branches.map(({ member, below }) => (
        <li key={member.agent_id} className="space-y-2">
          <Member team={team} member={member} onTask={onTask} />
          {below.length > 0 && (
            <div className="border-l border-line pl-3 sm:ml-3 sm:pl-5">
              <Level team={team} branches={below} onTask={onTask} />
            </div>
          )}
        </li>
      ))}
    </ul>
  );
}

function Member({ team, member, onTask }: Props & { member: TeamMember }) {
  const { background } = member;
  return (
    <div data-member={member.slug} className="rounded-xl border border-line px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
        {background && <StatusDot status={background.status} wait={background.wait_reason} />}
        <Link to="/agents/$id" params={{ id: member.agent_id! }} className="font-medium hover:underline">
          {member.name}
        </Link>
        <span className="font-mono text-xs text-faint">{member.slug}</span>
        <span className="ml-auto flex items-center gap-3 text-xs text-faint">
          {background && (
            <span>
              {workSessions(background.statistics.turns)} · {compact(background.statistics.input_tokens + background.statistics.output_tokens)} tokens · {money(background.statistics.cost)}
            </span>
          )}
          {onTask && (
            <IconButton name={`Give ${member.name} a task`} onClick={() => onTask(member.agent_id!)}>
              <SquarePen size={15} aria-hidden />
            </IconButton>
          )}
        </span>
      </div>
      <p className="mt-1 text-sm text-soft">
        <Doing member={member} />
      </p>
      {member.open_delegations.length > 0 && (
        <ul className="mt-1 space-y-0.5 text-sm">
          {member.open_delegations.map((sent) => (
            <Waits key={sent.id} team={team} sent={sent} />
          ))}
        </ul>
      )}
      {member.next_run_at && (
        <p className="mt-1 flex items-center gap-1.5 text-xs text-soft">
          <CalendarClock size={13} aria-hidden className="shrink-0" /> Runs next {fullTime(member.next_run_at)}
        </p>
      )}
    </div>
  );
}

// Doing says what a member does now, and leads to where it does it.
export function Doing({ member: { background, description } }: { member: TeamMember }) {
  if (!background) return <>Its work is private.</>;
  const busy = background.status === 'running' || background.status === 'waiting';
  const name = busy ? statusName(background.status, background.wait_reason) : background.status === 'failed' ? 'Its last work failed' : 'Idle';
  return (
    <>
      {name}
      {busy && background.doing ? ': ' : ' · '}
      <Link to="/c/$id" params={{ id: background.session_id }} dir="auto" className="text-accent underline underline-offset-2">
        {busy && background.doing ? plainTitle(background.doing) : 'its work'}
      </Link>
      {!busy && description && <span className="text-faint"> · {description}</span>}
    </>
  );
}

function Waits({ team, sent }: { team: Team; sent: Sent }) {
  return (
    <li className="flex items-start gap-1.5 text-warn">
      <Hourglass size={13} aria-hidden className="mt-1 shrink-0" />
      <span className="min-w-0">
        Waits for {receiverOf(team, sent)}: <span className="text-soft">{KINDS[sent.kind].toLowerCase()} “{plainTitle(sent.title)}”</span>
        {sent.deadline_at && <span className="text-xs text-faint"> until {fullTime(sent.deadline_at)}</span>}
      </span>
    </li>
  );
}
