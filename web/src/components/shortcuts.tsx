import { useEffect, useRef } from 'react';
import { Dialog } from './ui';

interface Actions {
  palette: () => void;
  help: () => void;
  compose: () => void;
  search: () => void;
  rail: () => void;
}

export const SHORTCUTS: [string, string][] = [
  ['Ctrl K', 'Go to anything'],
  ['n', 'New conversation'],
  ['/', 'Search'],
  ['j / k', 'Next, previous conversation or search result'],
  ['\\', 'Show or hide the list'],
  ['o', 'Outline of the conversation'],
  ['[ / ]', 'Previous, next question'],
  ['m', 'Write a message'],
  ['Enter', 'Send; Shift Enter starts a new line'],
  ['Esc', 'Stop the running turn, if the message is empty; what you queued is held'],
  ['Home / End', 'First message, latest message'],
  ['?', 'These shortcuts'],
];

// useShortcuts listens for keys outside of fields.
export function useShortcuts(actions: Actions): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        latest.current.palette();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
      switch (event.key) {
        case '?':
          latest.current.help();
          break;
        case 'n':
          latest.current.compose();
          break;
        case '\\':
          latest.current.rail();
          break;
        case 'j':
        case 'k':
          step(event.key === 'j' ? 1 : -1);
          break;
        case '/':
          search(latest.current.search);
          break;
        case 'm':
          document.querySelector<HTMLElement>('[data-composer]')?.focus();
          break;
        default:
          return;
      }
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

// typing reports whether a key belongs to a field, a dialog or a menu.
export function typing(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName) || target.closest('[role=dialog],[role=menu]') !== null);
}

// search focuses the field of the search page, and opens that page first if necessary.
function search(open: () => void): void {
  const field = document.querySelector<HTMLInputElement>('[data-search]');
  if (!field) return open();
  field.focus();
  field.select();
}

// step opens the conversation above or below the open one in the list.
function step(by: number): void {
  const hits = document.querySelectorAll<HTMLElement>('[data-hit]');
  if (hits.length > 0) return hits[by > 0 ? 0 : hits.length - 1]!.focus(); // on the search page, a result
  const links = [...document.querySelectorAll<HTMLAnchorElement>('[data-session-list] a')];
  const at = links.findIndex((link) => link.getAttribute('aria-current') === 'page');
  links[at < 0 ? 0 : at + by]?.click();
}

export function Shortcuts({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title="Keyboard shortcuts">
      <ShortcutTable />
    </Dialog>
  );
}

export function ShortcutTable() {
  return (
    <dl className="divide-y divide-line text-sm">
      {SHORTCUTS.map(([keys, does]) => (
        <div key={keys} className="flex items-center justify-between py-2">
          <dt>{does}</dt>
          <dd>
            <kbd className="rounded border border-line-strong bg-raised px-1.5 py-0.5 font-mono text-xs">{keys}</kbd>
          </dd>
        </div>
      ))}
    </dl>
  );
}
