import { useEffect, useRef } from 'react';

interface Actions {
  palette: () => void;
  help: () => void;
  compose: () => void;
  search: () => void;
  rail: () => void;
}

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
