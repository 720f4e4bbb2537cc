import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Call } from '../api/types';
import { Payload } from '../components/payload';
import { duration, fullTime } from '../components/format';
import { Button } from '../components/ui';
import type { Look } from '../pages/inspect';
import { CallView } from './call';
import type { Entry } from './rows';

interface Props {
  entry: Entry;
  calls: Call[]; // of the session, newest first
  look: Look;
  go: (change: Look) => void;
}

// Detail shows one row in full.
export function Detail({ entry, calls, look, go }: Props) {
  switch (entry.kind) {
    case 'message':
      return <MessageView entry={entry} go={go} />;
    case 'call':
      return <CallView call={entry.call} calls={calls} look={look} go={go} />;
    case 'event':
      return <Payload name={entry.event.type} tree text={JSON.stringify(entry.event, null, 2)} />;
  }
}

function MessageView({ entry, go }: { entry: Extract<Entry, { kind: 'message' }>; go: (change: Look) => void }) {
  const { message, result } = entry;
  const child = message.metadata.session_id;
  return (
    <div className="space-y-4">
      <Facts
        facts={[
          ['Role', message.role],
          ['Status', message.status],
          [
            'Sequence',
            message.sequence === null ? (
              'queued'
            ) : (
              <Link to="/c/$id" params={{ id: message.session_id }} search={{ at: message.id }} className="text-accent underline underline-offset-2">
                #{message.sequence} in the conversation
              </Link>
            ),
          ],
          ['Author', message.author.name],
          ['Time', fullTime(message.created_at)],
          ['Duration', duration(entry.took)],
        ]}
      />
      {typeof child === 'string' && <Button onClick={() => go({ of: child, row: undefined, part: undefined, with: undefined })}>Show the rows of its conversation</Button>}
      {message.error && <Payload name="Error" bad tree text={JSON.stringify(message.error, null, 2)} />}
      <Payload name="Content" tree text={JSON.stringify(message.content, null, 2)} />
      {result && <Payload name="Result" tree text={JSON.stringify(result.content, null, 2)} />}
      <Payload name="The whole message" tree text={JSON.stringify(message, null, 2)} />
    </div>
  );
}

export function Facts({ facts }: { facts: [string, ReactNode][] }) {
  return (
    <dl className="grid grid-cols-2 gap-x-4 gap-y-2 text-sm sm:grid-cols-3">
      {facts.map(([name, value]) => (
        <div key={name} className="min-w-0">
          <dt className="text-xs text-faint">{name}</dt>
          <dd className="break-words">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
