import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useNavigate } from '@tanstack/react-router';
import { Bot, ChartColumn, FileText, Folder, Inbox, LogOut, Menu as MenuIcon, PanelLeftClose, ScrollText, Search, Settings, SquarePen, UserRound, Users, X } from 'lucide-react';
import { type ReactNode, Suspense, useRef, useState, useSyncExternalStore } from 'react';
import { principal } from '../api/queries';
import { Problem } from '../api/http';
import { part } from '../live/arrive';
import { feed } from '../live/feed';
import { useFreshKey } from './freshkey';
import { signOut } from './person';
import { OutboxNote } from './outboxnote';
import { SessionList } from './sessionlist';
import { useShortcuts } from './shortcuts';
import { counted } from './tab';
import { cx, IconButton } from './ui';
import { useWaits } from './waits';

const FirstKey = part(() => import('../pages/firstkey'), 'FirstKey');
const Palette = part(() => import('./palette'), 'Palette');
const Shortcuts = part(() => import('./shortcutlist'), 'Shortcuts');
const SignIn = part(() => import('../pages/signin'), 'SignIn');

const wide = () => matchMedia('(min-width: 768px)').matches;

export function Shell() {
  const [open, setOpen] = useState(wide);
  const [palette, setPalette] = useState(false);
  const [help, setHelp] = useState(false);
  const navigate = useNavigate();
  const me = useQuery(principal());
  useShortcuts({
    palette: () => setPalette(true),
    help: () => setHelp(true),
    compose: () => void navigate({ to: '/new' }),
    search: () => void navigate({ to: '/search' }),
    rail: () => setOpen((was) => !was),
  });
  // While the principal is fetched again there is no error: the form stays, with its text.
  const refused = useRef(false);
  if (me.data) refused.current = false;
  if (me.error instanceof Problem && me.error.status === 401) refused.current = true;
  const fresh = useFreshKey();
  if (fresh || refused.current) return <Suspense fallback={null}>{fresh ? <FirstKey secret={fresh} /> : <SignIn />}</Suspense>;
  return (
    <div className="flex h-page">
      <a href="#main" className="sr-only z-50 rounded-lg bg-accent px-3 py-2 text-on-accent focus:not-sr-only focus:absolute focus:top-2 focus:left-2">
        Skip to the conversation
      </a>
      {open && <button type="button" aria-label="Close the list" className="fixed inset-0 z-20 bg-black/40 md:hidden" onClick={() => setOpen(false)} />}
      <Rail open={open} onClose={() => setOpen(false)} />
      <main id="main" tabIndex={-1} className="relative min-w-0 flex-1 overflow-clip outline-none">
        {!open && (
          <div className="absolute top-2 left-2 z-10">
            <IconButton name="Show conversations" onClick={() => setOpen(true)} className="bg-bg">
              <MenuIcon size={18} />
            </IconButton>
          </div>
        )}
        <div className="pointer-events-none absolute inset-x-0 top-14 z-20 flex flex-col items-center gap-1.5 px-12">
          <LinkBanner />
          <OutboxNote />
        </div>
        <Outlet />
      </main>
      <Suspense fallback={null}>
        <Palette open={palette} onClose={() => setPalette(false)} />
        <Shortcuts open={help} onClose={() => setHelp(false)} />
      </Suspense>
    </div>
  );
}

function Rail({ open, onClose }: { open: boolean; onClose: () => void }) {
  const waits = useWaits();
  const { data: me } = useQuery(principal());
  return (
    <nav
      aria-label="Conversations"
      onClick={(event) => {
        if (!wide() && event.target instanceof Element && event.target.closest('a')) onClose(); // it covers the chosen page
      }}
      className={cx(
        'fixed inset-y-page left-0 z-30 flex w-72 shrink-0 flex-col border-r border-line bg-raised md:static md:z-auto',
        !open && 'hidden',
      )}
    >
      <div className="flex items-center justify-between px-3 pt-3 pb-2">
        <Link to="/new" className="flex items-center gap-2 rounded-lg px-1 font-semibold tracking-tight">
          <img src="/icon.svg" alt="" className="size-6" /> Parley
        </Link>
        <IconButton name="Hide conversations" onClick={onClose}>
          <PanelLeftClose size={17} className="max-md:hidden" />
          <X size={18} className="md:hidden" />
        </IconButton>
      </div>
      {me?.role !== 'reader' && (
        <div className="px-3 pb-2">
          <Link
            to="/new"
            data-filled
            className="flex h-9 items-center justify-center gap-2 rounded-lg bg-accent text-sm font-medium text-on-accent transition-colors hover:bg-accent-strong"
          >
            <SquarePen size={16} aria-hidden /> New conversation
          </Link>
        </div>
      )}
      <div className="px-3 pb-3">
        <Link
          to="/search"
          activeOptions={{ includeSearch: false }}
          activeProps={{ 'aria-current': 'page' }}
          className="flex h-8 items-center gap-2 rounded-lg border border-line bg-bg px-2.5 text-sm text-faint hover:border-line-strong hover:text-text aria-[current=page]:border-accent"
        >
          <Search size={15} aria-hidden /> Search
          <kbd aria-hidden className="ml-auto rounded border border-line px-1 font-mono text-[11px]">
            /
          </kbd>
        </Link>
      </div>
      <SessionList />
      <div className="border-t border-line p-2">
        <Place to="/inbox" icon={<Inbox size={16} />} badge={waits}>
          Inbox
        </Place>
        <Place to="/team" icon={<Users size={16} />}>
          Teams
        </Place>
        <Place to="/agents" icon={<Bot size={16} />}>
          Agents
        </Place>
        <Place to="/projects" icon={<Folder size={16} />}>
          Projects
        </Place>
        <Place to="/documents" icon={<FileText size={16} />}>
          Documents
        </Place>
        <Place to="/usage" icon={<ChartColumn size={16} />}>
          Usage
        </Place>
        {me?.role === 'admin' && (
          <Place to="/audit" icon={<ScrollText size={16} />}>
            Audit
          </Place>
        )}
        <Place to="/settings/models" icon={<Settings size={16} />}>
          Settings
        </Place>
        {me?.sign_in_id && (
          <div className="flex h-8 items-center gap-2.5 pl-2 text-sm text-soft">
            <UserRound size={16} aria-hidden />
            <span className="min-w-0 flex-1 truncate" title={`${me.role} in the workspace ${me.workspace}`}>
              {me.name}
            </span>
            <IconButton name="Sign out" onClick={signOut}>
              <LogOut size={15} />
            </IconButton>
          </div>
        )}
      </div>
    </nav>
  );
}

function Place({ to, icon, badge, children }: { to: string; icon: ReactNode; badge?: number; children: string }) {
  return (
    <Link
      to={to}
      className="flex h-8 items-center gap-2.5 rounded-lg px-2 text-sm text-soft hover:bg-hover hover:text-text"
      activeProps={{ className: 'bg-hover text-text font-medium', 'aria-current': 'page' }}
    >
      <span aria-hidden>{icon}</span>
      {children}
      {!!badge && <span className="ml-auto rounded-full bg-warn-soft px-1.5 text-xs font-semibold text-warn">{counted(badge)}</span>}
    </Link>
  );
}

// LinkBanner says when the shown data may be old. It takes no space of its own.
function LinkBanner() {
  const state = useSyncExternalStore(feed.onState, feed.linkState);
  if (state !== 'reconnecting') return null;
  return (
    <p role="status" className="rounded-full border border-line bg-warn-soft px-3 py-1 text-xs font-medium text-warn shadow-pop">
      Reconnecting… What is stored stays; an answer that is being written may be asked for again.
    </p>
  );
}
