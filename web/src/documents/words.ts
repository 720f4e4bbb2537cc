import type { Artifact, ArtifactVersion } from '../api/types';

export const KINDS: Record<Artifact['kind'], string> = { markdown: 'Markdown', text: 'Text', json: 'JSON', code: 'Code', csv: 'Table', html: 'HTML', svg: 'SVG', file: 'File' };

// authorOf names who wrote a version.
export const authorOf = ({ author }: ArtifactVersion) => author.name || (author.kind === 'agent' ? 'an agent' : 'somebody');

// passage says which lines of a text a quotation is, if it occurs there exactly once.
export function passage(text: string, quoted: string): string {
  const at = text.indexOf(quoted);
  if (at < 0 || text.indexOf(quoted, at + 1) >= 0) return '';
  const first = text.slice(0, at).split('\n').length;
  const last = first + quoted.split('\n').length - 1;
  return first === last ? `, line ${first}` : `, lines ${first} to ${last}`;
}
