import type { Delegation, Schedule, Team, TeamMember } from '../api/types';
import { compact, fullTime } from '../components/format';

// nameIn names an agent of a team; others have only been in it, or lead it from above.
export function nameIn(team: Pick<Team, 'members'>, agent: string | null): string {
  return team.members.find((one) => one.agent_id === agent)?.name ?? 'an agent of another team';
}

export type Sent = TeamMember['open_delegations'][number];

// receiverOf names the one for whom something is meant.
export function receiverOf(team: Pick<Team, 'members' | 'owner_name'>, sent: Pick<Sent, 'to_agent_id' | 'to_principal_id'>): string {
  return sent.to_principal_id ? team.owner_name || 'the owner' : nameIn(team, sent.to_agent_id);
}

// waitsFor names everyone whose answer a member waits for, each once.
export function waitsFor(team: Pick<Team, 'members' | 'owner_name'>, member: Pick<TeamMember, 'open_delegations'>): string {
  return [...new Set(member.open_delegations.map((sent) => receiverOf(team, sent)))].join(', ');
}

// workSessions counts the turns of background sessions in words.
export const workSessions = (turns: number) => `${compact(turns)} ${turns === 1 ? 'work session' : 'work sessions'}`;

// Branch is a member with those whom it leads.
export interface Branch {
  member: TeamMember;
  below: Branch[];
}

// treeOf arranges members, of whom each stands after its lead, as a tree.
export function treeOf(members: TeamMember[]): Branch[] {
  const known = new Map<string | null, Branch>();
  const top: Branch[] = [];
  for (const member of members) {
    const branch = { member, below: [] };
    (member.depth === 0 ? top : (known.get(member.lead_id)?.below ?? top)).push(branch);
    known.set(member.agent_id, branch);
  }
  return top;
}

// isOpen reports whether a delegation can still be answered or cancelled: reports and briefings end as they arrive.
export function isOpen({ kind, status }: Pick<Delegation, 'kind' | 'status'>): boolean {
  return status === 'sent' || ((status === 'delivered' || status === 'running') && (kind === 'task' || kind === 'question'));
}

export const KINDS: Record<Delegation['kind'], string> = { task: 'Task', question: 'Question', report: 'Report', briefing: 'Briefing' };

// statusOf says what has become of a delegation.
export function statusOf(delegation: Pick<Delegation, 'kind' | 'status' | 'to_principal_id'>): { name: string; tone: 'plain' | 'good' | 'warn' | 'bad' | 'accent' } {
  switch (delegation.status) {
    case 'sent':
      return { name: 'Sent', tone: 'plain' };
    case 'delivered':
      if (!isOpen(delegation)) return { name: 'Delivered', tone: 'good' };
      return delegation.to_principal_id ? { name: 'Waits for an answer', tone: 'warn' } : { name: 'Waits its turn', tone: 'plain' };
    case 'running':
      return { name: 'At work', tone: 'accent' };
    case 'answered':
      return { name: 'Answered', tone: 'good' };
    case 'failed':
      return { name: 'Failed', tone: 'bad' };
    case 'cancelled':
      return { name: 'Cancelled', tone: 'plain' };
    case 'expired':
      return { name: 'Expired', tone: 'warn' };
  }
}

// whenOf says when a schedule is due.
export function whenOf({ cron, every, at, time_zone }: Pick<Schedule, 'cron' | 'every' | 'at' | 'time_zone'>): string {
  if (cron) return `${cron} (${time_zone})`;
  return every ? `every ${every}` : `once, ${fullTime(at)}`;
}

const LOOK_MS = 1_500; // a server looks for due schedules once a second
const AGAIN_MS = 5_000;
const LONGEST_MS = 3_600_000; // browsers end longer waits at once, beyond some weeks

// untilDue is the time in milliseconds until a server has seen to the earliest of some runs; false if none is planned.
export function untilDue(times: (string | null)[] = [], now = Date.now()): number | false {
  const due = times.flatMap((time) => (time ? [Date.parse(time)] : []));
  if (due.length === 0) return false;
  const wait = Math.min(...due) + LOOK_MS - now;
  return wait > 0 ? Math.min(wait, LONGEST_MS) : AGAIN_MS;
}

// Kind is the way in which a schedule says when.
export type Kind = 'cron' | 'every' | 'at';

export interface Timing {
  kind: Kind;
  cron: string;
  every: string;
  at: string; // as an input of the browser has it, by its own clock
  zone: string;
  jitter: string;
}

// timingInput is a timing as the server reads it; null while the person has yet to say when.
export function timingInput({ kind, cron, every, at, zone, jitter }: Timing): Record<string, string> | null {
  const late: Record<string, string> = jitter.trim() ? { jitter: jitter.trim() } : {};
  switch (kind) {
    case 'cron':
      return cron.trim() ? { cron: cron.trim(), time_zone: zone.trim(), ...late } : null;
    case 'every':
      return every.trim() ? { every: every.trim(), ...late } : null;
    case 'at': {
      const time = new Date(at);
      return Number.isNaN(time.getTime()) ? null : { at: time.toISOString(), ...late };
    }
  }
}

// localInput is a time as an input of the browser reads it, by its own clock.
export function localInput(time: string | null): string {
  if (!time) return '';
  const date = new Date(time);
  const two = (n: number) => String(n).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}T${two(date.getHours())}:${two(date.getMinutes())}`;
}

// timingOf is a schedule's timing, to edit; a new one is due on workdays at nine, by the clock of the person.
export function timingOf(schedule: Pick<Schedule, 'cron' | 'every' | 'at' | 'time_zone' | 'jitter'> | null): Timing {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';
  if (!schedule) return { kind: 'cron', cron: '0 9 * * 1-5', every: '', at: '', zone, jitter: '' };
  const { cron, every, at, time_zone, jitter } = schedule;
  return { kind: cron ? 'cron' : every ? 'every' : 'at', cron: cron ?? '', every: every ?? '', at: localInput(at), zone: cron ? time_zone : zone, jitter: jitter ?? '' };
}
