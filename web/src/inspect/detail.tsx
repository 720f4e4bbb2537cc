import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { callOf } from '../api/queries';
import type { Call, ManifestRange } from '../api/types';
import { Payload } from '../chat/tools';
import { compact, duration, fullTime, money, number } from '../components/format';
import { Badge, Failed, Loading } from '../components/ui';
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

function Facts({ facts }: { facts: [string, ReactNode][] }) {
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

const OUTCOMES = { completed: 'good', failed: 'bad', cancelled: 'plain', interrupted: 'warn', open: 'accent' } as const;

function CallView({ call }: { call: Call }) {
  const detail = useQuery(callOf(call.id));
  const { usage } = call;
  return (
    <div className="space-y-5">
      <Facts
        facts={[
          ['Model', call.model],
          ['Outcome', <Badge key="outcome" tone={OUTCOMES[call.outcome]}>{call.outcome}</Badge>],
          ['Step', `${call.step}, attempt ${call.attempt}`],
          ['First token', duration(call.first_token_ms)],
          ['Took', duration(call.total_ms)],
          ['Ended', call.finish_reason ?? '–'],
          ['Tokens in', usage.input_tokens === null ? 'not sent' : number(usage.input_tokens)],
          ['of them cached', usage.cached_tokens === null ? 'not sent' : number(usage.cached_tokens)],
          ['Tokens out', usage.output_tokens === null ? 'not sent' : number(usage.output_tokens)],
          ['Cost', money(call.cost)],
        ]}
      />
      {call.error && <Payload name="Error" bad text={JSON.stringify(call.error, null, 2)} />}
      <Shown ranges={call.manifest.ranges} policy={call.manifest.policy} />
      {detail.isPending && <Loading what="the request" />}
      {detail.isError && <Failed error={detail.error} onRetry={() => void detail.refetch()} />}
      {detail.data && (
        <>
          <p className="text-sm">
            {detail.data.exact ? (
              <Badge tone="good">rebuilt to the byte</Badge>
            ) : (
              <>
                <Badge tone="warn">not exact</Badge> {detail.data.reason}
              </>
            )}
          </p>
          <Payload name="Request" text={JSON.stringify(detail.data.request, null, 2)} />
          <Payload name="System prompt" text={detail.data.system_prompt} />
          <Payload name={`Tools (${detail.data.tools.length})`} text={detail.data.tools.length > 0 ? JSON.stringify(detail.data.tools, null, 2) : ''} />
        </>
      )}
    </div>
  );
}

// Shown says which messages the model saw, and why.
function Shown({ ranges, policy }: { ranges: ManifestRange[]; policy: string }) {
  return (
    <section>
      <h3 className="mb-2 text-sm font-medium">
        What the model saw <span className="font-normal text-faint">by the policy {policy}</span>
      </h3>
      {ranges.length === 0 && <p className="text-sm text-faint">No message.</p>}
      <ul className="space-y-1 text-sm">
        {ranges.map((range) => (
          <li key={range.from} className="flex gap-3 rounded-lg bg-raised px-3 py-1.5">
            <span className="w-24 shrink-0 font-mono text-xs leading-5">
              #{range.from}
              {range.to > range.from && `–${range.to}`}
            </span>
            <span className="text-soft">
              {range.reason}
              {range.except && range.except.length > 0 && ` (without ${compact(range.except.length)})`}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
