import { useRef, useState } from 'react';
import { type Json, JsonTree } from '../components/json';
import { shared } from '../live/patch';
import { CodeBlock } from '../markdown/code';

// Structured shows an answer in the form of an object, while it streams too: as a tree, or as the text that the model wrote.
export function Structured({ object, text, complete }: { object: Json; text: string; complete: boolean }) {
  const [written, setWritten] = useState(false);
  const shown = useRef(object);
  shown.current = shared(shown.current, object) as Json; // the settled object draws nothing again that streamed
  return (
    <div data-object>
      {written ? (
        <CodeBlock text={text} language="json" closed={complete} />
      ) : (
        <div className="rounded-lg border border-line bg-code p-3 font-mono text-[13px] leading-relaxed">
          <JsonTree value={shown.current} />
        </div>
      )}
      <button type="button" aria-pressed={written} onClick={() => setWritten(!written)} className="mt-1 rounded text-xs text-faint underline hover:text-text">
        As the model wrote it
      </button>
    </div>
  );
}
