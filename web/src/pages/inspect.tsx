import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { ArrowLeft, Eye, EyeOff, X } from 'lucide-react';
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { Missing } from '../chat/missing';
import { Button, cx, IconButton, Loading } from '../components/ui';
import { number } from '../components/format';
import { titled } from '../components/tab';
import { titleOf } from '../components/title';
import { Detail } from '../inspect/detail';
import { Inspection } from '../inspect/inspection';
import { nameOf, Rows } from '../inspect/list';
import { chosen, countsOf, FILTERS, type Only, shows, spansOf, written } from '../inspect/rows';
import { SessionTree } from '../inspect/tree';

// Look is the state of the inspector; the address holds all of it.
export interface Look {
  only?: string; // kinds of rows, with commas
  row?: string;
  of?: string; // a sub-conversation to show instead
  part?: string; // of the open call
  with?: string; // the call to compare it with
}

export function InspectPage() {
  const { id } = useParams({ from: '/c/$id/inspect' });
  const look: Look = useSearch({ from: '/c/$id/inspect' });
  const navigate = useNavigate();
  // Back closes an opened row, or leaves a sub-conversation.
  const leads = (change: Look) => (change.row !== undefined && !look.row) || ('of' in change && change.of !== look.of);
  const go = (change: Look) => void navigate({ to: '/c/$id/inspect', params: { id }, search: { ...look, ...change }, replace: !leads(change) });
  const shown = look.of ?? id;
  return (
    <div className="flex h-full max-md:flex-col">
      <SessionTree root={id} shown={shown} onShow={(of) => go({ of: of === id ? undefined : of, row: undefined, part: undefined, with: undefined })} />
      <Inspector key={shown} id={shown} look={look} go={go} />
    </div>
  );
}

// useInspection follows a session while it is shown.
function useInspection(id: string, row: string | undefined): Inspection {
  const [inspection] = useState(() => new Inspection(id));
  useSyncExternalStore(inspection.subscribe, inspection.snapshot);
  useEffect(() => {
    inspection.open(row);
    return () => inspection.close();
    // oxlint-disable-next-line exhaustive-deps -- where it opens is read once
  }, [inspection]);
  return inspection;
}

function Inspector({ id, look, go }: { id: string; look: Look; go: (change: Look) => void }) {
  const inspection = useInspection(id, look.row);
  const only = chosen(look.only);
  const { transcript, entries } = inspection;
  const wantsEvents = only.includes('events');
  useEffect(() => inspection.showEvents(wantsEvents), [inspection, wantsEvents]);
  useEffect(() => {
    titled(transcript.state === 'failed' ? 'No conversation – Parley' : `Inspector: ${transcript.session ? titleOf(transcript.session) : ''} – Parley`);
  }, [transcript.session?.title, transcript.state]);
  const spans = useMemo(() => spansOf(entries, Date.now()), [entries]);
  const rows = useMemo(() => entries.filter((entry) => shows(entry, chosen(look.only))), [entries, look.only]);
  const counts = useMemo(() => ({ ...countsOf(entries), events: inspection.eventCount }), [entries, inspection.eventCount]);
  const open = entries.find((entry) => entry.id === look.row);
  const show = (row: string | undefined) => go({ row, part: undefined, with: undefined });
  if (transcript.state === 'failed') {
    return (
      <div className="flex min-w-0 flex-1 flex-col overflow-y-auto">
        <h1 className="sr-only">Inspector</h1>
        <Missing error={transcript.error} onRetry={() => transcript.retry()} />
      </div>
    );
  }
  return (
    <div className="flex min-h-0 min-w-0 flex-1 flex-col">
      <Heading id={id} title={transcript.session ? titleOf(transcript.session) : ''} only={only} counts={counts} more={inspection.older || inspection.newer} onOnly={(next) => go({ only: written(next) })} />
      <div className="flex min-h-0 flex-1 max-lg:flex-col">
        <div className="flex min-h-0 min-w-0 flex-1 flex-col">
          {transcript.state === 'loading' && (
            <div className="px-4">
              <Loading what="the record" />
            </div>
          )}
          {transcript.state === 'ready' && <Rows rows={rows} spans={spans} open={look.row} onOpen={show} narrow={open !== undefined} inspection={inspection} />}
          <footer className="flex gap-3 border-t border-line px-3 py-1.5 text-xs text-faint">
            <span role="status">
              {rows.length} rows{inspection.older && ', older ones above'}
              {only.length < FILTERS.length && `; hidden: ${FILTERS.flatMap(([key, label]) => (only.includes(key) ? [] : [label.toLowerCase()])).join(', ')}`}
            </span>
            {transcript.activity.running && <span className="text-accent">live</span>}
            {inspection.error !== null && <span className="text-bad">Some rows could not be loaded; trying again.</span>}
          </footer>
        </div>
        {open && (
          <aside aria-label="Row" className="w-[26rem] shrink-0 overflow-y-auto border-l border-line bg-bg p-4 max-lg:h-3/5 max-lg:w-full max-lg:border-t max-lg:border-l-0 xl:w-[34rem]">
            <div className="mb-3 flex items-center justify-between">
              <h2 className="truncate font-semibold">{nameOf(open)}</h2>
              <IconButton name="Close" onClick={() => show(undefined)}>
                <X size={16} />
              </IconButton>
            </div>
            <Detail key={open.id} entry={open} calls={inspection.callList} look={look} go={go} />
          </aside>
        )}
      </div>
    </div>
  );
}

interface HeadingProps {
  id: string;
  title: string;
  only: Only[];
  counts: Record<Only, number>;
  more: boolean; // not everything was read: then only the count of events is complete
  onOnly: (only: Only[]) => void;
}

function Heading({ id, title, only, counts, more, onOnly }: HeadingProps) {
  return (
    <header className="flex min-h-12 shrink-0 flex-wrap items-center gap-2 border-b border-line px-3 py-1 max-md:pl-12">
      <Link to="/c/$id" params={{ id }} aria-label="Back to the conversation" className="inline-flex size-8 items-center justify-center rounded-lg text-soft hover:bg-hover">
        <ArrowLeft size={16} aria-hidden />
      </Link>
      <h1 className="min-w-0 truncate text-sm font-semibold">Inspector: {title}</h1>
      <span className="flex-1" />
      <div role="group" aria-label="Kinds of rows" className="flex gap-1 overflow-x-auto max-md:w-full">
        {FILTERS.map(([key, label]) => {
          const on = only.includes(key);
          return (
            <Button key={key} look="quiet" aria-pressed={on} className={cx('shrink-0 px-2 text-xs', on && 'bg-accent-soft text-accent-strong')} title={on ? undefined : 'Hidden'} onClick={() => onOnly(on ? only.filter((one) => one !== key) : [...only, key])}>
              {on ? <Eye size={13} aria-hidden /> : <EyeOff size={13} aria-hidden />}
              {label} <span className="font-normal tabular-nums">{number(counts[key])}{more && key !== 'events' && '+'}</span>
            </Button>
          );
        })}
      </div>
    </header>
  );
}
