import type { Failure, ID, WaitReason } from '../api/types';

// ToolRun is what is known of a call beyond its rows.
export interface ToolRun {
  startedAt: number | null;
  progress: { progress: number; total: number | null; message: string } | null;
}

export interface Retry {
  attempt: number;
  class: string;
  until: number;
}

// Activity is what a session is doing, for "never silent".
export interface Activity {
  running: boolean;
  turn: ID | null; // the one that runs
  since: number;
  step: number;
  wait: WaitReason | null;
  sentence: string;
  retry: Retry | null;
  failure: Failure | null; // of the last turn, when it failed
  ended: ID | null; // the last turn, when it failed or was stopped: it can be tried again
  queued: boolean; // a turn waits to be begun
}

// Warning tells that a limit is near.
export interface Warning {
  limit: string;
  share: number;
}

// Summary is how the writing of one stands; sentence is why it failed.
export interface Summary {
  state: 'running' | 'waits' | 'failed'; // waits: for the turn to end that runs
  sentence: string;
}

export const IDLE: Activity = { running: false, turn: null, since: 0, step: 0, wait: null, sentence: '', retry: null, failure: null, ended: null, queued: false };
