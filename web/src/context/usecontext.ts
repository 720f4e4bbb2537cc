import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { contextOf } from '../api/queries';
import type { Transcript } from '../live/transcript';

// Events that change the window: neither deltas nor a tool's progress.
const CHANGES = /^(message\.(created|marked)|step\.(generated|error)|tool\.completed|session\.(updated|completed|failed|cancelled)|context\.cleared|compaction\.(completed|failed))$/;

// useContextOf reads what the next call of a conversation would be shown, again whenever that changes; text is a
// message to count too.
export function useContextOf(transcript: Transcript, enabled = true, text = '') {
  const stamp = transcript.events.findLast((event) => CHANGES.test(event.type))?.sequence ?? transcript.session?.last_event_sequence ?? 0;
  return useQuery({ ...contextOf(transcript.id, stamp, text), enabled, placeholderData: keepPreviousData });
}
