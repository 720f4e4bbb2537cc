import type { Token } from 'marked';
import { memo, useLayoutEffect, useRef } from 'react';
import { Blocks } from './blocks';
import { blockOf } from './render';

const Piece = memo(
  function Piece({ token, closed }: { token: Token; closed: boolean }) {
    return blockOf(token, closed);
  },
  (before, after) => before.token === after.token || (before.token.raw === after.token.raw && before.closed === after.closed),
);

export interface Props {
  text: string;
  complete: boolean;
  drew?: (took: number) => void; // milliseconds, for the next pause
}

// Reading parses and renders a text that may still grow.
export function Reading({ text, complete, drew }: Props) {
  const blocks = useRef<Blocks | null>(null);
  blocks.current ??= new Blocks();
  const began = performance.now();
  const shown = blocks.current.read(text, complete);
  useLayoutEffect(() => drew?.(performance.now() - began));
  return (
    <div className="prose-chat">
      {shown.map((block) => (
        <Piece key={block.key} token={block.token} closed={block.closed} />
      ))}
    </div>
  );
}
