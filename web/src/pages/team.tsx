import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { MessageSquarePlus } from 'lucide-react';
import { useEffect, useState } from 'react';
import { request } from '../api/http';
import { principal } from '../api/queries';
import type { Session, Team } from '../api/types';
import { compact, money } from '../components/format';
import { titled } from '../components/tab';
import { Button, Failed, Loading, Page } from '../components/ui';
import { Knowledge } from '../team/knowledge';
import { Schedules } from '../team/schedules';
import { Work } from '../team/task';
import { Timeline } from '../team/timeline';
import { teamOf } from '../team/queries';
import { workSessions } from '../team/words';
import { NoSuch } from './errors';

export function TeamPage() {
  const { lead } = useParams({ from: '/team/$lead' });
  const team = useQuery(teamOf(lead));
  useEffect(() => {
    if (!team.isError) titled(`${team.data?.name ?? 'Team'} – Teams – Parley`);
  }, [team.data?.name, team.isError]);
  if (team.isPending) {
    return (
      <Page title="Team">
        <Loading what="the team" />
      </Page>
    );
  }
  if (team.isError) return <NoSuch what="team" list="/team" error={team.error} onRetry={() => void team.refetch()} />;
  return <Shown team={team.data} />;
}

function Shown({ team }: { team: Team }) {
  const navigate = useNavigate();
  const me = useQuery(principal()).data;
  const [failure, setFailure] = useState<unknown>(null);
  const mayManage = me !== undefined && me.role !== 'reader' && (me.role === 'admin' || me.id === team.owner_id);
  const talk = () =>
    request<Session>(`/v1/agents/${team.lead_id}/foreground`, { method: 'PUT' }).then(
      (session) => navigate({ to: '/c/$id', params: { id: session.id } }),
      (failed: unknown) => setFailure(failed),
    );
  const { total } = team;
  return (
    <Page
      title={`Team of ${team.name}`}
      about={`${team.member_count} members${team.owner_name ? ` of ${team.owner_name}` : ''}; ${workSessions(total.turns)}, ${compact(total.input_tokens + total.output_tokens)} tokens, ${money(total.cost)} so far. ${team.description}`}
      actions={
        me !== undefined && me.role !== 'reader' && (
          <Button onClick={() => void talk()}>
            <MessageSquarePlus size={14} aria-hidden /> Talk to {team.name}
          </Button>
        )
      }
    >
      {failure !== null && (
        <div className="mb-4">
          <Failed error={failure} />
        </div>
      )}
      <Work team={team} mayManage={mayManage} />
      <Timeline team={team} />
      <Schedules team={team} mayManage={mayManage} />
      <Knowledge team={team} mayManage={mayManage} />
    </Page>
  );
}
