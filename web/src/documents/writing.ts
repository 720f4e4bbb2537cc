import { useEffect, useReducer, useRef } from 'react';
import type { PatchOperation } from '../api/events';
import type { ID } from '../api/types';
import type { LiveMessage } from '../live/message';
import { patched } from '../live/patch';
import type { Transcript } from '../live/transcript';
import { isJson } from '../components/json';
import { Growing } from './growing';
import { writesDocument, writtenBy } from './written';

// Calls of the tools for documents, while they write.

// Draft is a version that a call is about to write, as far as its arguments are known.
export interface Draft {
  id: ID | null; // of the document that gets the version; null for a new document
  name: string | null;
  kind: string | null;
  base: number | null; // the version that it begins with; null for the newest, or for none
  content: unknown; // all of it; undefined if the call edits
  edits: Edit[];
  patch: PatchOperation[];
}

interface Edit {
  old: string;
  new: string;
  all: boolean;
}

// draftOf reads the arguments of a call; complete says that nothing will follow. Of edits, only those are in it that
// are complete, and the last one while its new text grows.
export function draftOf(value: unknown, complete: boolean): Draft {
  const said = isJson(value) ? (value as Record<string, unknown>) : {};
  const text = (name: string) => (typeof said[name] === 'string' ? said[name] : null);
  const edits = listIn(said.edits).flatMap((edit, i, all): Edit[] => {
    const whole = complete || i < all.length - 1 || Object.keys(edit).at(-1) === 'new';
    return whole && typeof edit.old === 'string' && edit.old !== '' && typeof edit.new === 'string' ? [{ old: edit.old, new: edit.new, all: edit.all === true }] : [];
  });
  const operations = listIn(said.patch) as unknown as PatchOperation[];
  return {
    id: text('id'),
    name: text('name'),
    kind: text('kind'),
    base: typeof said.base_version === 'number' ? said.base_version : null,
    content: said.content,
    edits,
    patch: complete ? operations : operations.slice(0, -1),
  };
}

const listIn = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.filter(isJson).map((one) => one as Record<string, unknown>) : []);

// edited is a text after edits, as the server will make it. One that does not apply is left out: the server refuses it.
export function edited(text: string, edits: Edit[]): string {
  for (const { old, new: now, all } of edits) {
    if (all) text = text.replaceAll(old, () => now);
    else if (text.indexOf(old) >= 0 && text.indexOf(old) === text.lastIndexOf(old)) text = text.replace(old, () => now);
  }
  return text;
}

// changed is a JSON value after a patch; as it was if the patch does not apply.
export function changed(value: unknown, patch: PatchOperation[]): unknown {
  try {
    return patched(value, patch);
  } catch {
    return value;
  }
}

// openCalls are the calls of a transcript that write documents and have no result yet.
export function openCalls(transcript: Transcript): LiveMessage[] {
  const done = new Set(transcript.order.flatMap(({ message }) => (message.role === 'tool_result' ? [message.tool_call_id] : [])));
  return transcript.order.filter(({ message }) => message.role === 'tool_call' && writesDocument(message.tool_name) && message.status !== 'cancelled' && message.status !== 'failed' && !(message.tool_call_id && done.has(message.tool_call_id)));
}

// useDraft is what a call writes, drawn again as its arguments grow. Without a call it is null.
export function useDraft(call: LiveMessage | null): Draft | null {
  const [, draw] = useReducer((n: number) => n + 1, 0);
  useEffect(() => call?.subscribe(draw), [call]);
  const growing = useRef<{ call: LiveMessage; value: Growing } | null>(null);
  if (!call) return null;
  if (growing.current?.call !== call) growing.current = { call, value: new Growing() };
  const { arguments: said } = call.message.content; // null if the call was stopped, too
  return draftOf(said ?? growing.current.value.read(call.text('arguments')), Boolean(said));
}

// latestIn is the newest version of a document that calls in a transcript have written; 0 for none.
export function latestIn(transcript: Transcript, document: ID): number {
  return transcript.order.reduce((most, { message }) => {
    const written = message.role === 'tool_result' ? writtenBy(message) : null;
    return written?.id === document ? Math.max(most, written.version) : most;
  }, 0);
}
