import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { request } from '../api/http';
import type { Message, Team } from '../api/types';
import { CreateDialog } from '../components/create';
import { Field, Select, TextArea } from '../components/ui';
import { Members } from './members';

// Work is the members of a team, and the way to give one of them a task.
export function Work({ team, mayManage }: { team: Team; mayManage: boolean }) {
  const queries = useQueryClient();
  const [agent, setAgent] = useState<string | null>(null); // null: no task is being given
  const [text, setText] = useState('');
  const key = useMemo(() => `task ${crypto.randomUUID()}`, [agent, text]); // the same task is given once, however often it is sent
  const [given, setGiven] = useState<Message | null>(null);
  return (
    <>
      <Members team={team} onTask={mayManage ? setAgent : undefined} />
      <p role="status" className="mt-2 text-sm text-soft empty:hidden">
        {given && (
          <>
            The task waits for its turn.{' '}
            <Link to="/c/$id" params={{ id: given.session_id }} search={{ at: given.id }} className="text-accent underline underline-offset-2">
              Watch it
            </Link>
          </>
        )}
      </p>
      <CreateDialog
        open={agent !== null}
        onClose={() => setAgent(null)}
        title="Give a task"
        about="It goes into the agent’s background session, and begins when the work before it is done."
        label="Give the task"
        ready={text.trim() !== ''}
        list="team"
        create={() => request<Message>(`/v1/agents/${agent}/tasks`, { key, body: { text } })}
        onCreated={(message) => {
          setText('');
          setGiven(message);
          void queries.invalidateQueries({ queryKey: ['delegations'] });
        }}
      >
        <Field label="Agent">
          <Select value={agent ?? ''} onChange={(event) => setAgent(event.target.value)}>
            {team.members.map((member) => (
              <option key={member.agent_id} value={member.agent_id!}>
                {member.name}
              </option>
            ))}
          </Select>
        </Field>
        <Field label="Task">
          <TextArea rows={6} value={text} onChange={(event) => setText(event.target.value)} required placeholder="Find out why the build is slow." />
        </Field>
      </CreateDialog>
    </>
  );
}
