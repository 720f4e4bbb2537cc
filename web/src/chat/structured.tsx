import { useState } from 'react';
import { type Json, JsonTree } from '../components/json';
import { CodeBlock } from '../markdown/code';

// Structured shows an answer in the form of an object: as a tree, or as the text that the model wrote.
export function Structured({ object, text }: { object: Json; text: string }) {
  const [written, setWritten] = useState(false);
  return (
    <div data-object>
      {written ? (
        <CodeBlock text={text} language="json" closed />
      ) : (
        <div className="rounded-lg border border-line bg-code p-3 font-mono text-[13px] leading-relaxed">
          <JsonTree value={object} />
        </div>
      )}
      <button type="button" aria-pressed={written} onClick={() => setWritten(!written)} className="mt-1 rounded text-xs text-faint underline hover:text-text">
        As the model wrote it
      </button>
    </div>
  );
}
