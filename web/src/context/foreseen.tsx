import { Link } from '@tanstack/react-router';
import { Bookmark } from 'lucide-react';
import { useMemo, useState } from 'react';
import { request, sentence } from '../api/http';
import type { ContextPreview, ID, Outlook } from '../api/types';
import { compact, number } from '../components/format';
import { useReader } from '../components/role';
import { cx, IconButton } from '../components/ui';
import { Cost } from './cost';
import { bytesOf, labelOf } from './parts';
import { filledOf, FULL, saysOf } from './outlook';


const SNIPPET = 80; // characters of a message

// Foreseen is the meter of a window: when it is shortened, and what leaves it first. A pin keeps a message in it.
export function Foreseen({ session, outlook, data }: { session: ID; outlook: Outlook; data: ContextPreview }) {
  const says = saysOf(outlook);
  return (
    <section aria-label="Until it is shortened" className="space-y-2">
      <p className="text-sm font-medium">{says}</p>
      <div role="meter" aria-label={says} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(outlook.share * 100)} className="h-2 overflow-hidden rounded-full bg-sunken">
        <span className={cx('block h-full rounded-full', outlook.share > FULL ? 'bg-warn' : 'bg-accent')} style={{ width: `${outlook.share * 100}%` }} />
      </div>
      <p className="text-xs text-soft">
        {filledOf(outlook)}
        {outlook.assumed && '. The model’s length is unknown: 32,000 tokens are assumed'}
      </p>
      <Leaving session={session} outlook={outlook} data={data} />
    </section>
  );
}

function Leaving({ session, outlook: { leaving }, data }: { session: ID; outlook: Outlook; data: ContextPreview }) {
  const reader = useReader();
  const [error, setError] = useState('');
  const rows = useMemo(
    () =>
      leaving.first.map((one) => {
        const part = data.parts.find((part) => part.message_id === one.message_id);
        return { ...one, id: one.message_id!, label: part ? labelOf(part) : `#${one.sequence}`, text: part ? bytesOf(data.request, part).slice(0, SNIPPET) : '' };
      }),
    [leaving, data],
  );
  if (leaving.count === 0) return <p className="text-xs text-soft">Nothing would leave: the newest turn, the first task and pinned messages stay.</p>;
  const pin = (message: ID) => {
    setError('');
    request(`/v1/messages/${message}/marks`, { method: 'PUT', query: { session }, body: { pinned: true } }).catch((failure: unknown) => setError(sentence(failure)));
  };
  return (
    <>
      <p className="pt-1 text-xs font-medium text-soft">
        These go first, of {number(leaving.count)} with about {compact(leaving.tokens)} tokens
      </p>
      <ul aria-label="These go first" className="divide-y divide-line rounded-xl border border-line text-sm">
        {rows.map((row) => (
          <li key={row.id} className="flex items-center gap-2 py-0.5 pr-1 pl-3">
            <Link to="/c/$id" params={{ id: session }} search={{ at: row.id, panel: 'context' }} className="min-w-0 flex-1 truncate text-accent hover:underline">
              {row.label} <span className="text-soft">{row.text}</span>
            </Link>
            <span className="shrink-0 text-xs text-faint">{compact(row.tokens)}</span>
            {!reader && (
              <IconButton name={`Pin #${row.sequence}: it stays`} more={<Cost session={session} change={{ marks: [{ message_id: row.id, pinned: true }] }} />} onClick={() => pin(row.id)}>
                <Bookmark size={14} />
              </IconButton>
            )}
          </li>
        ))}
      </ul>
      {error && (
        <p role="alert" className="text-sm text-bad">
          {error}
        </p>
      )}
    </>
  );
}
