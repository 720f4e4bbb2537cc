import { memo, Suspense } from 'react';
import { part } from '../live/arrive';
import type { Props } from './reading';

// The parser is not among the first scripts. It is requested as soon as they run, so that it
// arrives with the conversation's messages rather than after them.
const Reading = part(() => import('./reading'), 'Reading');

// readingHere resolves once texts are rendered at once, or could not be fetched.
export const readingHere = Reading.preload();

// Markdown renders a text that may still grow: as it was written until the parser is here.
export const Markdown = memo(function Markdown(props: Props) {
  return (
    <Suspense fallback={<div className="prose-chat"><p dir="auto" className="whitespace-pre-wrap">{props.text}</p></div>}>
      <Reading {...props} />
    </Suspense>
  );
});
