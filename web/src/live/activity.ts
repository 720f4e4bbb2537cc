import type { Failure, ID, WaitReason } from '../api/types';

// ToolRun is the state of a call beyond its rows.
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
  turn: ID | null; // the running one
  since: number;
  step: number;
  wait: WaitReason | null;
  sentence: string;
  retry: Retry | null;
  failure: Failure | null; // of the last turn, if it failed
  ended: ID | null; // the last turn, if it failed or was stopped: it can be retried
  queued: boolean; // a turn waits to begin
}

// Warning says that a limit is near.
export interface Warning {
  limit: string;
  share: number;
}

// Summary is the state of a summary being written; sentence says why it failed.
export interface Summary {
  state: 'running' | 'waits' | 'failed'; // waits: for the running turn to end
  sentence: string;
}

export const IDLE: Activity = { running: false, turn: null, since: 0, step: 0, wait: null, sentence: '', retry: null, failure: null, ended: null, queued: false };
