import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Problem } from '../api/http';
import { callDiff, callOf } from '../api/queries';
import type { Call, CallDetail, Part, PartKind } from '../api/types';
import { Payload } from '../chat/tools';
import { compact, duration, money, number, size } from '../components/format';
import { Badge, cx, Failed, Loading } from '../components/ui';
import { Facts } from './detail';

const OUTCOMES = { completed: 'good', failed: 'bad', cancelled: 'plain', interrupted: 'warn', open: 'accent' } as const;

// CallView explains one model call: what it cost, what the model saw and did not
// see, and how the request differs from the one before.
export function CallView({ call }: { call: Call }) {
  const detail = useQuery(callOf(call.id));
  const { usage } = call;
  return (
    <div className="space-y-6">
      <Facts
        facts={[
          ['Model', call.model],
          ['Outcome', <Badge key="outcome" tone={OUTCOMES[call.outcome]}>{call.outcome}</Badge>],
          call.purpose ? ['For', call.purpose] : ['Step', `${call.step}, attempt ${call.attempt}`],
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
      {detail.isPending && <Loading what="the request" />}
      {detail.isError && <Failed error={detail.error} onRetry={() => void detail.refetch()} />}
      {detail.data && <Explained detail={detail.data} />}
    </div>
  );
}

function Explained({ detail }: { detail: CallDetail }) {
  return (
    <>
      <Context detail={detail} />
      {detail.left_out.length > 0 && (
        <section>
          <h3 className="mb-2 text-sm font-medium">What it did not see</h3>
          <ul className="space-y-1 text-sm">
            {detail.left_out.map((left) => (
              <li key={left.from} className="flex gap-3 rounded-lg bg-raised px-3 py-1.5">
                <span className="w-24 shrink-0 font-mono text-xs leading-5">
                  #{left.from}
                  {left.to > left.from && `–${left.to}`}
                </span>
                <span className="flex-1 text-soft">{left.reason}</span>
                <span className="text-xs leading-5 text-faint">{left.tokens === null ? `${number(left.count)} messages` : `${compact(left.tokens)} tokens`}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
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
      <Difference id={detail.id} />
      <section className="space-y-3">
        <p className="text-sm">
          {detail.exact ? (
            <Badge tone="good">rebuilt to the byte</Badge>
          ) : (
            <>
              <Badge tone="warn">not exact</Badge> {detail.reason}
            </>
          )}
        </p>
        <Payload name="Request" text={JSON.stringify(detail.request, null, 2)} />
        <Payload name="System prompt" text={detail.system_prompt} />
        <Payload name={`Tools (${detail.tools.length})`} text={detail.tools.length > 0 ? JSON.stringify(detail.tools, null, 2) : ''} />
      </section>
    </>
  );
}

const KINDS: Record<PartKind, { name: string; colour: string }> = {
  tool: { name: 'Tools', colour: 'bg-warn' },
  system: { name: 'System prompt', colour: 'bg-bad' },
  summary: { name: 'Summary', colour: 'bg-faint' },
  context_note: { name: 'Notes', colour: 'bg-line-strong' },
  message: { name: 'Messages', colour: 'bg-accent' },
  parameters: { name: 'Parameters', colour: 'bg-text' },
};

// Context is the request as a stacked bar of its parts; each opens its exact bytes.
function Context({ detail }: { detail: CallDetail }) {
  const [open, setOpen] = useState<Part | null>(null);
  const total = Math.max(1, detail.parts.reduce((sum, part) => sum + part.tokens, 0));
  const kinds = [...new Set(detail.parts.map((part) => part.kind))];
  const { window } = detail;
  return (
    <section>
      <h3 className="mb-2 flex flex-wrap items-baseline gap-x-2 text-sm font-medium">
        What the model saw
        <span className="font-normal text-faint">
          about {compact(total)} tokens by the policy {detail.manifest.policy}
          {window?.share != null && `, ${(100 * window.share).toFixed(1)} % of its window`}
        </span>
      </h3>
      <div className="flex h-5 w-full gap-px overflow-hidden rounded-md bg-sunken" role="group" aria-label="Parts of the request">
        {detail.parts.map((part, i) => (
          <button
            key={i}
            type="button"
            aria-label={`${labelOf(part)}, ${part.tokens} tokens`}
            aria-pressed={open === part}
            title={`${labelOf(part)}: ${part.tokens} tokens`}
            onClick={() => setOpen(open === part ? null : part)}
            className={cx('h-full min-w-1 hover:opacity-80', KINDS[part.kind].colour, open && open !== part && 'opacity-40', (part.cached_tokens ?? 0) > 0 && 'outline-2 -outline-offset-2 outline-good')}
            style={{ flexGrow: part.tokens / total, flexBasis: 0 }}
          />
        ))}
      </div>
      <ul className="mt-2 flex flex-wrap gap-x-4 gap-y-1 text-xs text-soft">
        {kinds.map((kind) => (
          <li key={kind} className="flex items-center gap-1.5">
            <span aria-hidden className={cx('size-2.5 rounded-sm', KINDS[kind].colour)} /> {KINDS[kind].name}{' '}
            {compact(detail.parts.filter((part) => part.kind === kind).reduce((sum, part) => sum + part.tokens, 0))}
          </li>
        ))}
        {detail.parts.some((part) => (part.cached_tokens ?? 0) > 0) && <li>outlined: from the cache</li>}
      </ul>
      {open && (
        <div className="mt-3 rounded-lg border border-line p-3 text-sm">
          <p className="mb-2">
            <span className="font-medium">{labelOf(open)}</span> <span className="text-soft">in because: {open.reason}</span>
            <span className="text-faint">
              {' '}
              · {size(open.bytes)} · {number(open.tokens)} tokens
            </span>
          </p>
          <Payload name="Its bytes in the request" text={bytesOf(detail.request, open)} />
        </div>
      )}
    </section>
  );
}

function labelOf(part: Part): string {
  if (part.kind === 'tool') return `Tool ${part.name ?? ''}`;
  if (part.kind === 'message') return `#${part.sequence ?? '?'} ${part.role ?? ''}${part.name ? ` (${part.name})` : ''}`;
  return KINDS[part.kind].name;
}

// bytesOf cuts a part out of the request, whose bytes are those of its compact JSON.
function bytesOf(request: unknown, part: Part): string {
  if (!part.span) return 'It has no place of its own in the request.';
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  return new TextDecoder().decode(bytes.subarray(part.span.offset, part.span.offset + part.span.length));
}

// Difference says how the request differs from the session's one before.
function Difference({ id }: { id: string }) {
  const diff = useQuery(callDiff(id));
  if (diff.isPending) return <Loading what="the difference" />;
  if (diff.isError) {
    return diff.error instanceof Problem && diff.error.status < 500 ? <p className="text-sm text-faint">{diff.error.message}</p> : <Failed error={diff.error} onRetry={() => void diff.refetch()} />;
  }
  const { shared, changes, cache, first_difference: first } = diff.data;
  return (
    <section>
      <h3 className="mb-2 text-sm font-medium">Since the call before</h3>
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
    </section>
  );
}
