import type { Artifact, ArtifactVersion } from '../api/types';

export const KINDS: Record<Artifact['kind'], string> = { markdown: 'Markdown', text: 'Text', json: 'JSON', code: 'Code', csv: 'Table', html: 'HTML', svg: 'SVG', file: 'File' };

// authorOf names who wrote a version.
export const authorOf = ({ author }: ArtifactVersion) => author.name || (author.kind === 'agent' ? 'an agent' : 'somebody');

const MOST_WORDS = 400; // of a quotation that is looked for by its words

// linesOf are the first and last line of a quotation in a text, if it occurs there exactly once. What a reader selects
// lacks the marks of Markdown: then its words decide.
export function linesOf(text: string, quoted: string): [first: number, last: number] | null {
  const exact = text.indexOf(quoted);
  if (exact >= 0) return text.indexOf(quoted, exact + 1) < 0 ? linesAt(text, exact, exact + quoted.length) : null;
  const words = quoted.match(/[\p{L}\p{N}]+/gu);
  if (!words || words.length > MOST_WORDS) return null;
  const [found, again] = text.matchAll(new RegExp(words.join('[^\\p{L}\\p{N}]+'), 'gu'));
  return found && !again ? linesAt(text, found.index, found.index + found[0].length) : null;
}

function linesAt(text: string, from: number, to: number): [number, number] {
  const first = text.slice(0, from).split('\n').length;
  return [first, first + text.slice(from, to).split('\n').length - 1];
}

// Passage is what somebody chose in a document: a text, with its lines where they are known, or a part of JSON.
export interface Passage {
  text: string;
  lines: [first: number, last: number] | null;
  pointer: string | null;
}

// aboutOf says in a message which document it is about, and which part of it.
export function aboutOf(document: Pick<Artifact, 'id' | 'name'>, version: number, passage: Passage | null): string {
  const [first, last] = passage?.lines ?? [];
  const where = passage?.pointer ? `, at ${passage.pointer}` : !first ? '' : first === last ? `, line ${first}` : `, lines ${first} to ${last}`;
  return `About the document “${document.name}” (${document.id}), version ${version}${where}:`;
}
