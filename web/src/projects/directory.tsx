import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Command } from 'cmdk';
import { ChevronRight, Folder, FolderCheck, HardDrive } from 'lucide-react';
import { Fragment, useEffect, useState } from 'react';
import { Problem, request, sentence } from '../api/http';
import { directoriesIn, projectList } from '../api/queries';
import type { Directories, Project } from '../api/types';
import { CreateDialog } from '../components/create';
import { Badge, cx, Field, Input } from '../components/ui';
import { crumbsOf, nameOf } from './path';

const TYPING_MS = 250; // after typing, before a path is looked up
const RECENT = 4; // projects offered directly

// DirectoryDialog finds a directory on the server's machine and makes it a project.
export function DirectoryDialog({ open, onClose, onChosen }: { open: boolean; onClose: () => void; onChosen: (project: Project) => void }) {
  const [text, setText] = useState('');
  const [refused, setRefused] = useState(''); // a path that the list could not show
  const path = text.trim();
  return (
    <CreateDialog
      open={open}
      onClose={onClose}
      title="Choose a directory"
      about="On the server’s machine, within the directories that it allows. Agents that work there see nothing outside it."
      label={path ? `Use ${nameOf(path)}` : 'Use it'}
      ready={path !== '' && path !== refused}
      list="projects"
      create={() => request<Project>('/v1/projects', { body: { path } })}
      onCreated={onChosen}
    >
      <Recent
        onChosen={(project) => {
          onClose();
          onChosen(project);
        }}
      />
      <Field label="Path">
        <Input value={text} onChange={(event) => setText(event.target.value)} placeholder="/home/me/work" spellCheck={false} autoComplete="off" className="font-mono" />
      </Field>
      <Browser typed={path} onOpen={setText} onRefused={setRefused} />
    </CreateDialog>
  );
}

function Recent({ onChosen }: { onChosen: (project: Project) => void }) {
  const { data: projects } = useQuery(projectList());
  if (!projects?.length) return null;
  return (
    <div role="group" aria-label="Recent projects" className="flex flex-wrap items-center gap-1.5 text-xs text-faint">
      Recent
      {projects.slice(0, RECENT).map((project) => (
        <button key={project.id} type="button" title={project.path} onClick={() => onChosen(project)} className="inline-flex max-w-40 items-center gap-1.5 rounded-lg border border-line bg-raised px-2 py-1 text-text hover:border-line-strong hover:bg-hover">
          <FolderCheck size={13} aria-hidden className="shrink-0 text-faint" />
          <span className="truncate">{project.name}</span>
        </button>
      ))}
    </div>
  );
}

// Browser walks through directories; the path typed above is its position.
function Browser({ typed, onOpen, onRefused }: { typed: string; onOpen: (path: string) => void; onRefused: (path: string) => void }) {
  const [path, setPath] = useRested(typed);
  const [name, setName] = useState('');
  const [hidden, setHidden] = useState(false);
  const [at, setAt] = useState('');
  const all = useQuery({ ...directoriesIn(path, '', hidden), placeholderData: keepPreviousData });
  // If there are more than shown, the server searches by name.
  const found = useQuery({ ...directoriesIn(path, name, hidden), placeholderData: keepPreviousData, enabled: name !== '' && all.data?.truncated === true });
  const listing = name !== '' && found.data ? found.data : all.data;
  const only = !typed && all.data?.path === null && all.data.data.length === 1 ? all.data.data[0]!.path : '';
  useEffect(() => {
    if (!only) return;
    setPath(only);
    onOpen(only);
  }, [only, onOpen, setPath]);
  const refused = all.error instanceof Problem ? path : '';
  useEffect(() => onRefused(refused), [refused, onRefused]);
  const rows = listing?.data.filter((one) => one.name.toLowerCase().includes(name.toLowerCase())) ?? [];
  const keys = rows.map((one) => `${one.name}/`); // works for names with spaces at their ends too
  const go = (to: string) => {
    setName('');
    setPath(to);
    onOpen(to);
  };
  return (
    <Command label="Find a directory here" className="overflow-hidden rounded-xl border border-line" shouldFilter={false} value={keys.includes(at) ? at : (keys[0] ?? '')} onValueChange={setAt}>
      <Crumbs listing={all.data} onOpen={go} />
      <Command.Input
        autoFocus
        value={name}
        onValueChange={setName}
        onKeyDown={(event) => {
          if (event.key === 'Backspace' && name === '' && all.data?.parent) go(all.data.parent);
        }}
        placeholder="Type to find; Enter opens, Backspace goes up"
        className="h-9 w-full border-y border-line bg-bg px-3 text-sm -outline-offset-2 placeholder:text-faint"
      />
      <Command.List aria-label="Directories here" className={cx('h-52 overflow-y-auto p-1', all.isPlaceholderData && 'opacity-60')}>
        {all.isError ? (
          <p className="px-2 py-6 text-center text-sm text-soft">{sentence(all.error)}</p>
        ) : (
          <>
            {listing && rows.length === 0 && <p className="px-2 py-6 text-center text-sm text-faint">{name ? 'No directory here matches.' : 'There are no directories in this one.'}</p>}
            {rows.map((one) => (
              <Command.Item key={one.name} value={`${one.name}/`} onSelect={() => go(one.path)} className="flex h-8 cursor-default items-center gap-2 rounded-lg px-2 text-sm data-[selected=true]:bg-hover">
                {one.project_id ? <FolderCheck size={15} aria-hidden className="shrink-0 text-accent" /> : <Folder size={15} aria-hidden className="shrink-0 text-faint" />}
                <span className="truncate">{one.name}</span>
                {one.project_id && <Badge tone="accent">project</Badge>}
              </Command.Item>
            ))}
          </>
        )}
      </Command.List>
      <div className="flex flex-wrap items-center justify-between gap-x-3 border-t border-line px-3 py-1.5 text-xs text-faint">
        <label className="flex items-center gap-1.5">
          <input type="checkbox" checked={hidden} onChange={(event) => setHidden(event.target.checked)} className="accent-accent" /> Show hidden
        </label>
        <span role="status">{listing?.truncated ? 'There are more: type a part of the name.' : all.data?.project_id ? 'This is already a project.' : ''}</span>
      </div>
    </Command>
  );
}

// Crumbs shows the current position: the root, and each directory on the way.
function Crumbs({ listing, onOpen }: { listing: Directories | undefined; onOpen: (path: string) => void }) {
  const crumbs = listing?.path && listing.root ? crumbsOf(listing.root, listing.path) : [];
  return (
    <nav aria-label="Parent directories" className="flex min-h-9 flex-wrap items-center gap-0.5 bg-raised px-2 py-1 text-xs">
      <button type="button" aria-label="All allowed directories" onClick={() => onOpen('')} className="inline-flex size-6 items-center justify-center rounded text-soft hover:bg-hover hover:text-text">
        <HardDrive size={14} aria-hidden />
      </button>
      {crumbs.map((crumb, i) => (
        <Fragment key={crumb.path}>
          <ChevronRight size={12} aria-hidden className="text-faint" />
          <button type="button" aria-current={i === crumbs.length - 1 ? 'location' : undefined} onClick={() => onOpen(crumb.path)} className={cx('max-w-48 truncate rounded px-1 py-0.5 hover:bg-hover', i === crumbs.length - 1 ? 'font-medium' : 'text-soft')}>
            {crumb.name}
          </button>
        </Fragment>
      ))}
    </nav>
  );
}

// useRested is a text as of the last pause in typing, or as it was set.
function useRested(text: string): [string, (text: string) => void] {
  const [rested, setRested] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setRested(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return [rested, setRested];
}
