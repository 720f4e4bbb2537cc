import type { StreamEvent } from '../api/events';

// Messages from a tab to the holder of the connection.
export type FromTab =
  | { kind: 'watch'; tab: string; sessions: Record<string, number> } // session → last event seen; replaces what the tab watched
  | { kind: 'renew'; tab: string } // another user has the browser from now on
  | { kind: 'leave'; tab: string };

// Messages from the holder of the connection to tabs.
export type ToTab =
  | { kind: 'state'; state: LinkState }
  | { kind: 'renewed' } // to the other tabs: they show another person's data
  | { kind: 'event'; event: StreamEvent };

// LinkState is the state of the connection as shown to a person.
export type LinkState = 'connecting' | 'live' | 'reconnecting';
