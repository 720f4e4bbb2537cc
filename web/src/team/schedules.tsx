import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CalendarPlus } from 'lucide-react';
import { useId, useState } from 'react';
import { request, sentence } from '../api/http';
import type { Schedule, ScheduleRun, Team } from '../api/types';
import { fullTime } from '../components/format';
import { Badge, Button, Dialog, Empty, Failed, Loading } from '../components/ui';
import { runsOf, schedulesOf } from './queries';
import { ScheduleEditor } from './scheduleeditor';
import { TitleText } from './titletext';
import { nameIn, whenOf } from './words';

// Schedules are when the members of a team work by themselves.
export function Schedules({ team, mayManage }: { team: Team; mayManage: boolean }) {
  const list = useInfiniteQuery(schedulesOf(team.members.map((one) => one.agent_id!)));
  const rows = list.data?.pages.flatMap((page) => page.data) ?? [];
  const [edited, setEdited] = useState<Schedule | 'new' | null>(null);
  return (
    <section aria-labelledby="schedules" className="mt-10">
      <div className="mb-2 flex items-center justify-between gap-3">
        <h2 id="schedules" className="font-semibold">
          Schedules
        </h2>
        {mayManage && (
          <Button onClick={() => setEdited('new')}>
            <CalendarPlus size={14} aria-hidden /> New schedule
          </Button>
        )}
      </div>
      {list.isPending && <Loading what="schedules" />}
      {list.isError && <Failed error={list.error} onRetry={() => void list.refetch()} />}
      {list.isSuccess && rows.length === 0 && <Empty title="Nobody has a schedule.">A schedule posts its message into an agent’s background session at set times.</Empty>}
      <ul className="space-y-2">
        {rows.map((schedule) => (
          <Row key={schedule.id} team={team} schedule={schedule} onEdit={mayManage ? () => setEdited(schedule) : undefined} />
        ))}
      </ul>
      {list.hasNextPage && (
        <Button className="mt-3" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show more
        </Button>
      )}
      {edited && <ScheduleEditor team={team} schedule={edited === 'new' ? null : edited} onClose={() => setEdited(null)} />}
    </section>
  );
}

function Row({ team, schedule, onEdit }: { team: Team; schedule: Schedule; onEdit?: () => void }) {
  const queries = useQueryClient();
  const [history, setHistory] = useState(false);
  const [removing, setRemoving] = useState(false);
  const [error, setError] = useState('');
  const runs = useId();
  const act = (work: Promise<unknown>) => {
    setError('');
    work.then(
      () => {
        setRemoving(false);
        void queries.invalidateQueries({ queryKey: ['schedules'] });
        void queries.invalidateQueries({ queryKey: ['team'] }); // its next runs
      },
      (failure: unknown) => setError(sentence(failure)),
    );
  };
  const path = `/v1/schedules/${schedule.id}`;
  return (
    <li data-schedule={schedule.id} className="rounded-xl border border-line px-4 py-3 text-sm">
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <span className="font-medium">{schedule.name || nameIn(team, schedule.agent_id)}</span>
        {schedule.name && <span className="text-soft">{nameIn(team, schedule.agent_id)}</span>}
        <span className="font-mono text-xs text-soft">{whenOf(schedule)}</span>
        {!schedule.enabled && <Badge>Paused</Badge>}
        {schedule.skipped_in_a_row > 0 && <Badge tone="warn">{schedule.skipped_in_a_row} skipped in a row</Badge>}
      </p>
      <TitleText text={schedule.message} className="mt-1 line-clamp-2 text-soft" />
      <p className="mt-1 text-xs text-faint">
        {schedule.next_at ? `Next ${fullTime(schedule.next_at)}` : schedule.enabled ? 'It is over.' : 'It does not run while it is paused.'}
        {schedule.last_run && ` · last ${fullTime(schedule.last_run.due_at)}: ${schedule.last_run.state}`}
      </p>
      <div className="mt-2 flex flex-wrap gap-2">
        <Button look="quiet" aria-expanded={history} aria-controls={history ? runs : undefined} onClick={() => setHistory(!history)}>
          History
        </Button>
        {onEdit && (
          <>
            <Button look="quiet" onClick={onEdit}>
              Edit
            </Button>
            <Button look="quiet" onClick={() => act(request(path, { method: 'PATCH', body: { enabled: !schedule.enabled } }))}>
              {schedule.enabled ? 'Pause' : 'Resume'}
            </Button>
            <Button look="quiet" onClick={() => setRemoving(true)}>
              Delete
            </Button>
          </>
        )}
      </div>
      {error && !removing && (
        <p role="alert" className="mt-2 text-bad">
          {error}
        </p>
      )}
      {history && (
        <div id={runs}>
          <Runs schedule={schedule} />
        </div>
      )}
      <Dialog open={removing} onClose={() => setRemoving(false)} title="Delete the schedule?" about="The history of its runs goes with it. What it has posted stays.">
        {error && (
          <p role="alert" className="mb-3 text-sm text-bad">
            {error}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={() => setRemoving(false)}>Keep it</Button>
          <Button look="danger" onClick={() => act(request(path, { method: 'DELETE' }))}>
            Delete the schedule
          </Button>
        </div>
      </Dialog>
    </li>
  );
}

const REASONS: Record<NonNullable<ScheduleRun['reason']>, string> = {
  overlap: 'the previous run had not ended',
  missed: 'no server ran then',
  archived: 'the agent or its session was archived',
  queue_full: 'the queue was full',
  refused: 'the message was refused',
};

function Runs({ schedule }: { schedule: Schedule }) {
  const runs = useQuery({ ...runsOf(schedule), placeholderData: keepPreviousData });
  if (runs.isPending) return <Loading what="its runs" />;
  if (runs.isError) return <Failed error={runs.error} onRetry={() => void runs.refetch()} />;
  if (runs.data.length === 0) return <p className="mt-2 text-soft">It has not run yet.</p>;
  return (
    <ol aria-label="Latest runs" className="mt-2 space-y-1">
      {runs.data.map((run) => (
        <li key={run.due_at} className="flex flex-wrap gap-x-2">
          <time dateTime={run.due_at ?? undefined}>{fullTime(run.due_at)}</time>
          {run.session_id && run.message_id ? (
            <Link to="/c/$id" params={{ id: run.session_id }} search={{ at: run.message_id }} className="text-accent underline underline-offset-2">
              see what it did
            </Link>
          ) : (
            <span className="text-soft">skipped{run.reason && `: ${REASONS[run.reason]}`}</span>
          )}
        </li>
      ))}
    </ol>
  );
}
