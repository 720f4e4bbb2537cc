import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CalendarClock, Hourglass, Users } from 'lucide-react';
import { useEffect } from 'react';
import type { Team, TeamLead } from '../api/types';
import { fullTime, money } from '../components/format';
import { StatusDot } from '../components/status';
import { titled } from '../components/tab';
import { Button, Empty, Failed, Loading, Page } from '../components/ui';
import { Doing } from '../team/members';
import { teamLeads, teamOf } from '../team/queries';
import { waitsFor } from '../team/words';

export function TeamsPage() {
  const leads = useInfiniteQuery(teamLeads());
  const rows = leads.data?.pages.flatMap((page) => page.data) ?? [];
  useEffect(() => titled('Teams – Parley'), []);
  return (
    <Page title="Teams" about="Leads and the agents below them: who works on what now, who waits for whom, what runs next, and what it costs.">
      {leads.isPending && <Loading what="teams" />}
      {leads.isError && <Failed error={leads.error} onRetry={() => void leads.refetch()} />}
      {leads.isSuccess && rows.length === 0 && (
        <Empty icon={<Users size={28} />} title="No teams yet.">
          <p>
            Start an example and watch it work: <code className="rounded bg-sunken px-1 font-mono text-[13px] whitespace-nowrap">parley team example</code>
          </p>
          <p className="mt-2">
            For a team of your own, create its{' '}
            <Link to="/agents" className="text-accent underline underline-offset-2">
              agents
            </Link>
            , and choose for each the one that leads it.
          </p>
        </Empty>
      )}
      <ul className="space-y-4">
        {rows.map((lead) => (
          <Card key={lead.lead_id} lead={lead} />
        ))}
      </ul>
      {leads.hasNextPage && (
        <Button className="mt-4" disabled={leads.isFetchingNextPage} onClick={() => void leads.fetchNextPage()}>
          Show more teams
        </Button>
      )}
    </Page>
  );
}

function Card({ lead }: { lead: TeamLead }) {
  const team = useQuery(teamOf(lead.slug));
  return (
    <li data-team={lead.slug} className="rounded-2xl border border-line p-4">
      <h2 className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
        <Link to="/team/$lead" params={{ lead: lead.slug }} className="font-semibold text-accent underline underline-offset-2">
          {lead.name}
        </Link>
        <span className="text-xs text-faint">
          {lead.member_count} members{lead.owner_name && ` of ${lead.owner_name}`}
        </span>
        {team.data && <span className="ml-auto text-sm font-normal text-soft">{money(team.data.total.cost)} so far</span>}
      </h2>
      {lead.description && <p className="mt-1 text-sm text-soft">{lead.description}</p>}
      {team.isPending && <Loading what="its members" />}
      {team.isError && <Failed error={team.error} onRetry={() => void team.refetch()} />}
      {team.data && <Rows team={team.data} />}
    </li>
  );
}

function Rows({ team }: { team: Team }) {
  return (
    <ul className="mt-3 divide-y divide-line">
      {team.members.map((member) => {
        const waits = waitsFor(team, member);
        return (
          <li key={member.agent_id} className="grid gap-x-4 gap-y-1 py-2 text-sm sm:grid-cols-[12rem_1fr_auto]">
            <span className="flex min-w-0 items-center gap-2" style={{ paddingInlineStart: `${member.depth * 0.75}rem` }}>
              {member.background && <StatusDot status={member.background.status} wait={member.background.wait_reason} />}
              <span className="truncate font-medium">{member.name}</span>
            </span>
            <span className="min-w-0 break-words text-soft">
              <Doing member={member} />
              {waits && (
                <span className="flex items-center gap-1 text-warn">
                  <Hourglass size={13} aria-hidden className="shrink-0" /> Waits for {waits}
                </span>
              )}
            </span>
            <span className="text-xs text-faint sm:text-right">
              {member.background && money(member.background.statistics.cost)}
              {member.next_run_at && (
                <span className="flex items-center gap-1 sm:justify-end">
                  <CalendarClock size={13} aria-hidden /> <span className="sr-only">Runs next</span> {fullTime(member.next_run_at)}
                </span>
              )}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
