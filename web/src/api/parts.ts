import type { ID, Message, ContentPart } from './types';

type Content = Message['content'];

// worded is a content with another text, which stands where the first one stood: who edits a text sees all of them as one.
export function worded({ parts = [], search, think }: Content, text: string): object {
  const at = parts.findIndex((part) => part.type === 'text');
  const said: ContentPart = { type: 'text', text };
  const others = parts.flatMap((part, i): ContentPart[] => (i === at ? [said] : part.type === 'text' ? [] : [part]));
  return { parts: at < 0 ? [said, ...others] : others, ...(search ? { search } : {}), ...(think ? { think } : {}) };
}

export function filesIn(parts: ContentPart[] | undefined): ID[] {
  return (parts ?? []).flatMap((part) => ('file_id' in part ? [part.file_id] : []));
}

// resultText is what a tool answered, as text; its files by their names.
export function resultText({ parts }: Content): string {
  return parts?.length ? parts.map(plain).join('\n') : 'null';
}

function plain(part: ContentPart): string {
  if (part.type === 'object') return JSON.stringify(part.object, null, 2);
  if (part.type === 'link') return part.title ? `${part.title}: ${part.url}` : part.url;
  return 'text' in part ? part.text : `[${part.type} ${part.name ?? ''}]`;
}
