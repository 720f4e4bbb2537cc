import type { StreamEvent } from '../api/types';

// What a tab tells the one that holds the connection.
export type FromTab =
  | { kind: 'watch'; tab: string; sessions: Record<string, number> } // session → last event seen; replaces what the tab watched
  | { kind: 'leave'; tab: string };

// What the holder of the connection tells tabs.
export type ToTab =
  | { kind: 'state'; state: LinkState }
  | { kind: 'event'; event: StreamEvent };

// LinkState is what a person is shown of the connection.
export type LinkState = 'connecting' | 'live' | 'reconnecting';
