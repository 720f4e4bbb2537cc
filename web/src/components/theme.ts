import { useSyncExternalStore } from 'react';

export type Theme = 'light' | 'dark' | 'system';

const KEY = 'parley.theme';
const listeners = new Set<() => void>();
const system = matchMedia('(prefers-color-scheme: dark)');

function chosen(): Theme {
  const theme = localStorage.getItem(KEY);
  return theme === 'light' || theme === 'dark' ? theme : 'system';
}

function apply(): void {
  const theme = chosen();
  document.documentElement.classList.toggle('dark', theme === 'system' ? system.matches : theme === 'dark');
  for (const listener of listeners) listener();
}

system.addEventListener('change', apply);

export function choose(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme);
  apply();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, chosen);
}

// useDark is for components that draw with their own colours, such as charts.
export function useDark(): boolean {
  return useSyncExternalStore(subscribe, () => document.documentElement.classList.contains('dark'));
}
