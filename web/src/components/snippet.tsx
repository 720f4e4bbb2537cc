import type { SearchHit, Snippet } from '../api/types';

// placeOf is the part of an address that leads to a hit: the message, and the text found in it.
export function placeOf({ message, snippet }: SearchHit): { at: string; find: string } {
  const [from, to] = snippet.marks[0] ?? [0, 0];
  return { at: message?.id ?? '', find: Array.from(snippet.text).slice(from, to).join('') };
}

// SnippetText shows a piece of a text with its matches marked. Marks count code points,
// so that they mean the same to every client.
export function SnippetText({ snippet }: { snippet: Snippet }) {
  const points = Array.from(snippet.text);
  let at = 0;
  const parts = snippet.marks.map(([from = 0, to = 0]) => {
    const plain = points.slice(at, from).join('');
    at = to;
    return (
      <span key={from}>
        {plain}
        <mark className="rounded-sm bg-mark px-0.5 text-text">{points.slice(from, to).join('')}</mark>
      </span>
    );
  });
  return (
    <>
      {parts}
      {points.slice(at).join('')}
    </>
  );
}
