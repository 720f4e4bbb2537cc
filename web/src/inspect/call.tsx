import { useQuery } from '@tanstack/react-query';
import { Problem } from '../api/http';
import { callDiff, callOf } from '../api/queries';
import type { Call, CallDetail } from '../api/types';
import { Payload } from '../components/payload';
import { duration, fullTime, money, number } from '../components/format';
import { Badge, cx, Failed, Loading } from '../components/ui';
import { LeftOutList } from '../context/leftout';
import { KINDS } from '../context/parts';
import { Sent } from '../context/sent';
import type { Look } from '../pages/inspect';
import { Facts } from './detail';

const OUTCOMES = { completed: 'good', failed: 'bad', cancelled: 'plain', interrupted: 'warn', open: 'accent' } as const;

// CallView explains one model call: its cost, what the model saw and did not see, and
// how the request differs from the previous one.
export function CallView({ call, calls, look, go }: { call: Call; calls: Call[]; look: Look; go: (change: Look) => void }) {
  const detail = useQuery(callOf(call.id, call.outcome));
  const { usage } = call;
  return (
    <div className="space-y-6">
      <Facts
        facts={[
          ['Model', call.model],
          ['Outcome', <Badge key="outcome" tone={OUTCOMES[call.outcome]}>{call.outcome}</Badge>],
          call.purpose ? ['Purpose', call.purpose] : ['Step', `${call.step}, attempt ${call.attempt}`],
          ['First token', duration(call.first_token_ms)],
          ['Duration', duration(call.total_ms)],
          ['Finish reason', call.finish_reason ?? '–'],
          ['Tokens in', usage.input_tokens === null ? 'not reported' : number(usage.input_tokens)],
          ['of them cached', usage.cached_tokens === null ? 'not reported' : number(usage.cached_tokens)],
          ['Tokens out', usage.output_tokens === null ? 'not reported' : number(usage.output_tokens)],
          ['Cost', money(call.cost)],
        ]}
      />
      {call.error && <Payload name="Error" bad tree text={JSON.stringify(call.error, null, 2)} />}
      {detail.isPending && <Loading what="the request" />}
      {detail.isError && <Failed error={detail.error} onRetry={() => void detail.refetch()} />}
      {detail.data && <Explained detail={detail.data} part={look.part} onPart={(part) => go({ part })} />}
      <Difference call={call} calls={calls} other={look.with} onOther={(other) => go({ with: other })} />
      {detail.data && <Sources detail={detail.data} />}
    </div>
  );
}

function Explained({ detail, part, onPart }: { detail: CallDetail; part: string | undefined; onPart: (part: string | undefined) => void }) {
  return (
    <>
      <section>
        <h3 className="mb-2 text-sm font-medium">
          What the model saw <span className="font-normal text-faint">under the policy {detail.manifest.policy}</span>
        </h3>
        <Sent session={detail.session_id} explained={detail} cached={detail.usage.cached_tokens ?? 0} cachedSays="From the cache" open={part === undefined ? undefined : Number(part)} onOpen={(at) => onPart(at === undefined ? undefined : String(at))} />
      </section>
      <section>
        <h3 className="mb-2 text-sm font-medium">What it did not see</h3>
        <LeftOutList session={detail.session_id} left={detail.left_out} />
      </section>
      {detail.costs && (
        <Facts
          facts={[
            ['New input', money(detail.costs.input)],
            ['From the cache', money(detail.costs.cached)],
            ['Into the cache', money(detail.costs.cache_write)],
            ['Answer', money(detail.costs.output)],
            ['Saved', money(detail.costs.saved)],
          ]}
        />
      )}
    </>
  );
}

// Sources shows the request, the system prompt and the tools unchanged.
function Sources({ detail }: { detail: CallDetail }) {
  return (
      <section className="space-y-3">
        <p className="text-sm">
          {detail.exact ? (
            <Badge tone="good">rebuilt exactly</Badge>
          ) : (
            <>
              <Badge tone="warn">not exact</Badge> {detail.reason}
            </>
          )}
        </p>
        <Payload name="Request, byte by byte" text={detail.request} />
        <Payload name="System prompt" text={detail.system_prompt} />
        <Payload name={`Tools (${detail.tools?.length ?? 0})`} tree text={detail.tools?.length ? JSON.stringify(detail.tools, null, 2) : ''} />
      </section>
  );
}

// Difference shows how the request differs from the session's previous one, or any other.
function Difference({ call, calls, other, onOther }: { call: Call; calls: Call[]; other: string | undefined; onOther: (other: string | undefined) => void }) {
  const others = calls.filter((one) => one.id !== call.id);
  return (
    <section>
      <div className="mb-2 flex flex-wrap items-center gap-2">
        <h3 className="text-sm font-medium">Compared with</h3>
        <select aria-label="The call to compare with" value={other ?? ''} onChange={(event) => onOther(event.target.value || undefined)} className="h-8 max-w-64 min-w-0 flex-1 truncate rounded-lg border border-line bg-bg px-2 text-xs">
          <option value="">the previous call</option>
          {other && !others.some((one) => one.id === other) && <option value={other}>{other}</option>}
          {others.map((one) => (
            <option key={one.id} value={one.id}>
              {fullTime(one.created_at)} · {one.purpose ?? `step ${one.step}`} · {number(one.usage.input_tokens ?? 0)} in
            </option>
          ))}
        </select>
      </div>
      <Changes id={call.id} other={other} />
    </section>
  );
}

function Changes({ id, other }: { id: string; other: string | undefined }) {
  const diff = useQuery(callDiff(id, other));
  if (diff.isPending) return <Loading what="the difference" />;
  if (diff.isError) {
    return diff.error instanceof Problem && diff.error.status < 500 ? <p className="text-sm text-faint">{diff.error.message}</p> : <Failed error={diff.error} onRetry={() => void diff.refetch()} />;
  }
  const { shared, changes, cache, first_difference: first } = diff.data;
  return (
    <>
      {shared && shared.of_tokens > 0 && (
        <div className="mb-2" role="img" aria-label={`${shared.tokens} of ${shared.of_tokens} tokens are the same prefix`}>
          <div className="h-2.5 overflow-hidden rounded bg-sunken">
            <div className="h-full bg-good" style={{ width: `${(100 * shared.tokens) / shared.of_tokens}%` }} />
          </div>
          <p className="mt-1 text-xs text-soft">
            {number(shared.tokens)} of {number(shared.of_tokens)} tokens are the same prefix
          </p>
        </div>
      )}
      <p className="text-sm text-soft">{cache.says}</p>
      <ul className="mt-2 space-y-2 text-sm">
        {changes.map((change) => (
          <li key={change.cause} className="rounded-lg bg-raised px-3 py-2">
            {change.breaks_prefix && <Badge tone="bad">breaks the cache</Badge>} {change.says}
            {change.names.length > 0 && <span className="font-mono text-xs"> {change.names.join(' ')}</span>}
            {change.lines.length > 0 && (
              <pre tabIndex={0} aria-label="Lines that changed" className="mt-2 overflow-x-auto rounded bg-code p-2 font-mono text-xs">
                {change.lines.map((line, i) => (
                  <span key={i} className={cx('block', line.sign === '+' ? 'text-good' : 'text-bad')}>
                    {line.sign} {line.text}
                  </span>
                ))}
              </pre>
            )}
          </li>
        ))}
      </ul>
      {first && changes.some((change) => change.breaks_prefix) && <Payload name={`First byte that differs: ${number(first.offset)}, in the ${KINDS[first.kind].name.toLowerCase()}`} text={`was …${first.was}…\nis  …${first.is}…`} />}
    </>
  );
}
