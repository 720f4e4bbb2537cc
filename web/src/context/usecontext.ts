import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { contextOf } from '../api/queries';
import type { Transcript } from '../live/transcript';

// Events that change the window: neither deltas nor a tool's progress.
const CHANGES = /^(message\.(created|marked)|step\.(generated|error)|tool\.completed|session\.(updated|completed|failed|cancelled)|context\.cleared|compaction\.(completed|failed))$/;

// useContextOf reads what the next call of a conversation would be shown, again whenever that changes; text is a
// message to count too, and brief leaves out the request, which is as long as the window.
export function useContextOf(transcript: Transcript, enabled = true, text = '', brief = false) {
  const stamp = transcript.events.findLast((event) => CHANGES.test(event.type))?.sequence ?? transcript.session?.last_event_sequence ?? 0;
  return useQuery({ ...contextOf(transcript.id, stamp, text, brief), enabled, placeholderData: keepPreviousData });
}
