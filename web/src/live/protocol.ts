import type { StreamEvent } from '../api/events';

// What a tab tells the one that holds the connection.
export type FromTab =
  | { kind: 'watch'; tab: string; sessions: Record<string, number> } // session → last event seen; replaces what the tab watched
  | { kind: 'renew'; tab: string } // somebody else uses the browser from now on
  | { kind: 'leave'; tab: string };

// What the holder of the connection tells tabs.
export type ToTab =
  | { kind: 'state'; state: LinkState }
  | { kind: 'renewed' } // to the other tabs: what they show is not this person's
  | { kind: 'event'; event: StreamEvent };

// LinkState is what a person is shown of the connection.
export type LinkState = 'connecting' | 'live' | 'reconnecting';
