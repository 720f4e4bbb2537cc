import { Link } from '@tanstack/react-router';
import { X } from 'lucide-react';
import { Suspense, useEffect, useRef } from 'react';
import type { ID } from '../api/types';
import { cx, IconButton, Loading } from '../components/ui';
import { ContextPanel } from '../context/panel';
import { part } from '../live/arrive';
import type { Transcript } from '../live/transcript';
import type { Panel } from '../router';
import { Details } from './details';
import { Lineage } from './lineage';
import { SessionDocuments } from '../documents/ofsession';
import { Outline } from './outline';
import { Trace } from './trace';
import { SubConversations } from './tree';

const NAMES: [Panel, string][] = [
  ['info', 'Details'],
  ['context', 'Context'],
  ['outline', 'Outline'],
  ['documents', 'Documents'],
  ['tree', 'Tree'],
  ['lineage', 'Forks'],
  ['trace', 'Events'],
];

const Beside = part(() => import('../documents/beside'), 'Beside');

interface Props {
  panel: Panel;
  open: { document?: ID; call?: ID }; // what the panel shows of its list
  transcript: Transcript;
  onClose: () => void;
  onJump: (message: ID) => void;
}

// Drawer is the panel beside a conversation. Escape closes it.
export function Drawer({ panel, open, transcript, onClose, onJump }: Props) {
  const session = transcript.session!;
  const reading = panel === 'documents' && (open.document ?? open.call) !== undefined;
  const here = useRef<HTMLElement>(null);
  const back = useRef<Element | null>(null); // had the focus before
  useEffect(() => {
    back.current = document.activeElement;
    here.current?.focus();
    return () => {
      if (back.current instanceof HTMLElement && (document.activeElement === document.body || here.current?.contains(document.activeElement))) back.current.focus();
    };
  }, []);
  return (
    <aside
      ref={here}
      tabIndex={-1}
      aria-label={NAMES.find(([name]) => name === panel)?.[1]}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.preventDefault(); // must not stop a turn
        onClose();
      }}
      className={cx(
        'flex shrink-0 flex-col border-l outline-none border-line bg-raised max-xl:fixed max-xl:inset-y-page max-xl:right-0 max-xl:z-30 max-xl:shadow-pop',
        reading ? 'w-[clamp(27rem,42vw,52rem)] max-xl:w-[min(44rem,100vw)]' : 'w-[27rem] max-xl:w-[min(27rem,100vw)]',
      )}
    >
      <div className="flex h-12 items-center justify-between gap-1 border-b border-line px-2">
        <nav aria-label="Panels" className="flex min-w-0 gap-0.5 overflow-x-auto text-[13px]">
          {NAMES.map(([name, shown]) => (
            <Link
              key={name}
              to="/c/$id"
              params={{ id: session.id }}
              search={{ panel: name }}
              replace
              aria-current={name === panel ? 'page' : undefined}
              className={cx('shrink-0 rounded-lg px-1.5 py-1 -outline-offset-2', name === panel ? 'bg-hover font-medium' : 'text-soft hover:bg-hover')}
            >
              {shown}
            </Link>
          ))}
        </nav>
        <IconButton name="Close" onClick={onClose}>
          <X size={16} />
        </IconButton>
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto p-4">
        {panel === 'info' && <Details session={session} />}
        {panel === 'context' && <ContextPanel transcript={transcript} />}
        {panel === 'outline' && <Outline transcript={transcript} onJump={onJump} />}
        {panel === 'documents' &&
          (reading ? (
            <Suspense fallback={<Loading what="the document" />}>
              <Beside session={session} transcript={transcript} document={open.document ?? null} call={open.call ?? null} />
            </Suspense>
          ) : (
            <SessionDocuments session={session} />
          ))}
        {panel === 'tree' && <SubConversations session={session} />}
        {panel === 'lineage' && <Lineage session={session} />}
        {panel === 'trace' && <Trace transcript={transcript} />}
      </div>
    </aside>
  );
}
