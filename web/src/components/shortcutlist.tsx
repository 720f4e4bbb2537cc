import { Dialog } from './ui';

const SHORTCUTS: [string, string][] = [
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
