import type { ReactNode } from 'react';
import { Payload } from '../chat/tools';
import { duration, fullTime } from '../components/format';
import { CallView } from './call';
import type { Entry } from './rows';

// Detail shows one row whole.
export function Detail({ entry }: { entry: Entry }) {
  switch (entry.kind) {
    case 'message':
      return (
        <div className="space-y-4">
          <Facts
            facts={[
              ['Role', entry.message.role],
              ['Status', entry.message.status],
              ['Sequence', entry.message.sequence === null ? 'queued' : `#${entry.message.sequence}`],
              ['Author', entry.message.author.name],
              ['Time', fullTime(entry.message.created_at)],
              ['Took', duration(entry.took)],
            ]}
          />
          {entry.message.error && <Payload name="Error" bad text={JSON.stringify(entry.message.error, null, 2)} />}
          <Payload name="Content" text={JSON.stringify(entry.message.content, null, 2)} />
          {entry.result && <Payload name="Result" text={JSON.stringify(entry.result.content, null, 2)} />}
          <Payload name="The whole message" text={JSON.stringify(entry.message, null, 2)} />
        </div>
      );
    case 'call':
      return <CallView call={entry.call} />;
    case 'event':
      return <Payload name={entry.event.type} text={JSON.stringify(entry.event, null, 2)} />;
  }
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
