import type { Snippet } from '../api/types';

// SnippetText shows a piece of a text with what was found in it marked. Marks count
// code points, so that they mean the same to every client.
export function SnippetText({ snippet }: { snippet: Snippet }) {
  const points = Array.from(snippet.text);
  let at = 0;
  const parts = snippet.marks.map(([from, to]) => {
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
