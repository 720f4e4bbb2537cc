import type { ID, Message, ContentPart } from './types';

type Content = Message['content'];

// read fills in the short form of content in parts, so that both read the same.
export function read(content: Content): Content {
  const parts = content?.parts;
  if (!parts?.length) return content;
  const texts = (type: ContentPart['type']) =>
    parts
      .flatMap((part) => (part.type === type && 'text' in part ? [part.text] : []))
      .join('\n\n');
  return { ...content, text: texts('text'), reasoning: texts('reasoning'), refusal: texts('refusal'), files: filesIn(parts), links: parts.flatMap((part) => (part.type === 'link' && part.url ? [part.url] : [])) };
}

export function filesIn(parts: ContentPart[] | undefined): ID[] {
  return (parts ?? []).flatMap((part) => ('file_id' in part ? [part.file_id] : []));
}

// resultText is a tool's result as text, with files by their names.
export function resultText(content: Content): string {
  if (!content.parts?.length) return typeof content.result === 'string' ? content.result : JSON.stringify(content.result, null, 2);
  return content.parts.map(plain).join('\n');
}

function plain(part: ContentPart): string {
  if (part.type === 'object') return JSON.stringify(part.object, null, 2);
  if (part.type === 'link') return part.title ? `${part.title}: ${part.url}` : part.url;
  return 'text' in part ? part.text : `[${part.type} ${part.name ?? ''}]`;
}
