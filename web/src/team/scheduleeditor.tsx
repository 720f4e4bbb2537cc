import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { request, sentence } from '../api/http';
import type { Schedule, Team } from '../api/types';
import { fullTime } from '../components/format';
import { useSettled } from '../components/settled';
import { Button, Dialog, Field, Input, Select, TextArea } from '../components/ui';
import { timesOf } from './queries';
import { type Kind, type Timing, timingInput, timingOf } from './words';

const PAUSE_MS = 300; // after typing, before the times are asked for

const zones = Intl.supportedValuesOf('timeZone');

// ScheduleEditor makes a schedule, or changes one; it shows the next times before they are stored.
export function ScheduleEditor({ team, schedule, onClose }: { team: Team; schedule: Schedule | null; onClose: () => void }) {
  const queries = useQueryClient();
  const [agent, setAgent] = useState(schedule?.agent_id ?? team.lead_id ?? '');
  const [name, setName] = useState(schedule?.name ?? '');
  const [message, setMessage] = useState(schedule?.message ?? '');
  const [timing, setTiming] = useState(() => timingOf(schedule));
  const [overlap, setOverlap] = useState(schedule?.overlap ?? 'skip');
  const [missed, setMissed] = useState(schedule?.missed ?? 'once');
  const [deadline, setDeadline] = useState(schedule?.deadline ?? '');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  const input = timingInput(timing);
  const save = (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError('');
    const fields = { name, message, overlap, missed, deadline: deadline.trim(), jitter: '', ...input };
    const stored = schedule
      ? request(`/v1/schedules/${schedule.id}`, { method: 'PATCH', body: fields })
      : request('/v1/schedules', { body: { agent_id: agent, ...fields } });
    stored
      .then(
        () => {
          void queries.invalidateQueries({ queryKey: ['schedules'] });
          void queries.invalidateQueries({ queryKey: ['team'] }); // its next runs
          onClose();
        },
        (failure: unknown) => setError(sentence(failure)),
      )
      .finally(() => setBusy(false));
  };
  return (
    <Dialog open onClose={onClose} title={schedule ? 'Change the schedule' : 'New schedule'}>
      <form onSubmit={save} className="space-y-4">
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label="Agent">
            <Select value={agent} disabled={schedule !== null} onChange={(event) => setAgent(event.target.value)}>
              {team.members.map((member) => (
                <option key={member.agent_id} value={member.agent_id!}>
                  {member.name}
                </option>
              ))}
            </Select>
          </Field>
          <Field label="Name">
            <Input value={name} maxLength={100} placeholder="For people; may be empty" onChange={(event) => setName(event.target.value)} />
          </Field>
        </div>
        <Field label="Message" hint="It begins each run.">
          <TextArea rows={3} value={message} required placeholder="Look for new issues and sum them up." onChange={(event) => setMessage(event.target.value)} />
        </Field>
        <When timing={timing} onChange={(change) => setTiming({ ...timing, ...change })} />
        <Times input={input} />
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label="If the previous run has not ended">
            <Select value={overlap} onChange={(event) => setOverlap(event.target.value)}>
              <option value="skip">Skip the run</option>
              <option value="queue">Let one run wait</option>
            </Select>
          </Field>
          <Field label="After a time without a server">
            <Select value={missed} onChange={(event) => setMissed(event.target.value)}>
              <option value="once">Run once for all missed</option>
              <option value="skip">Wait for the next time</option>
            </Select>
          </Field>
          <Field label="Stop a run after" hint="A duration of at most 720h, whatever the run waits for.">
            <Input value={deadline} className="font-mono" placeholder="24h" onChange={(event) => setDeadline(event.target.value)} />
          </Field>
        </div>
        {error && (
          <p role="alert" className="text-sm text-bad">
            {error}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={busy || !input || message.trim() === ''}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function When({ timing, onChange }: { timing: Timing; onChange: (change: Partial<Timing>) => void }) {
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <Field label="When">
        <Select value={timing.kind} onChange={(event) => onChange({ kind: event.target.value as Kind })}>
          <option value="cron">At times of the day</option>
          <option value="every">Again and again</option>
          <option value="at">Once</option>
        </Select>
      </Field>
      {timing.kind === 'cron' && (
        <>
          <Field label="Cron" hint="Minute, hour, day of month, month, day of week.">
            <Input value={timing.cron} className="font-mono" placeholder="0 9 * * 1-5" onChange={(event) => onChange({ cron: event.target.value })} />
          </Field>
          <Field label="Time zone">
            <Input list="zones" value={timing.zone} onChange={(event) => onChange({ zone: event.target.value })} />
            <datalist id="zones">
              {zones.map((zone) => (
                <option key={zone} value={zone} />
              ))}
            </datalist>
          </Field>
        </>
      )}
      {timing.kind === 'every' && (
        <Field label="Every" hint="A duration of at least a minute, such as 90m or 24h.">
          <Input value={timing.every} className="font-mono" placeholder="90m" onChange={(event) => onChange({ every: event.target.value })} />
        </Field>
      )}
      {timing.kind === 'at' && (
        <Field label="At" hint="By the clock of this browser.">
          <Input type="datetime-local" value={timing.at} onChange={(event) => onChange({ at: event.target.value })} />
        </Field>
      )}
      <Field label="Later by up to" hint="A duration of at most an hour; may be empty.">
        <Input value={timing.jitter} className="font-mono" placeholder="5m" onChange={(event) => onChange({ jitter: event.target.value })} />
      </Field>
    </div>
  );
}

// Times are the next five times of a timing, or why there are none.
function Times({ input }: { input: Record<string, string> | null }) {
  const settled = useSettled(JSON.stringify(input), PAUSE_MS);
  const asked = JSON.parse(settled) as Record<string, string> | null;
  const times = useQuery({ ...timesOf(asked ?? {}), enabled: asked !== null });
  return (
    <div role="group" aria-label="Next times" aria-live="polite" className="rounded-lg border border-line bg-raised px-3 py-2 text-sm">
      {!asked && <p className="text-soft">Say when, and the next times show here.</p>}
      {asked && times.isError && <p className="text-bad">{sentence(times.error)}</p>}
      {asked && times.isSuccess && times.data.length === 0 && <p className="text-bad">It is never due.</p>}
      {asked && times.isSuccess && times.data.length > 0 && (
        <>
          <p className="text-soft">Next times, by the clock of this browser{asked.jitter && ', without the delay'}:</p>
          <ol className="mt-1">
            {times.data.map((one) => (
              <li key={one}>
                <time dateTime={one}>{fullTime(one)}</time>
              </li>
            ))}
          </ol>
        </>
      )}
    </div>
  );
}
