import { type RefObject, useCallback, useEffect, useMemo, useState } from 'react';
import type { Choice } from '../components/json';
import { wayOf } from '../components/pointer';
import { valueAt } from '../live/patch';
import { linesOf, type Passage } from './words';

const LONGEST = 4_000; // characters of a quotation

// usePassage is what somebody has selected or chosen within an element that shows a text; null for nothing.
export function usePassage(within: RefObject<HTMLElement | null>, text: string): { passage: Passage | null; choice: Choice } {
  const [selected, setSelected] = useState('');
  const [pointer, setPointer] = useState<string | null>(null);
  useEffect(() => {
    const onSelect = () => {
      const selection = getSelection();
      const here = selection?.anchorNode && within.current?.contains(selection.anchorNode) && within.current.contains(selection.focusNode);
      setSelected(here ? selection.toString().trim().slice(0, LONGEST) : '');
    };
    document.addEventListener('selectionchange', onSelect);
    return () => document.removeEventListener('selectionchange', onSelect);
  }, [within]);
  const onChoose = useCallback((chosen: string) => setPointer((before) => (before === chosen ? null : chosen)), []);
  const part = useMemo(() => (pointer === null ? null : partOf(text, pointer)), [text, pointer]);
  const passage = useMemo((): Passage | null => {
    if (selected) return { text: selected, lines: linesOf(text, selected), pointer: null };
    return part === null ? null : { text: part, lines: null, pointer };
  }, [selected, text, part, pointer]);
  return { passage, choice: { chosen: part === null ? null : pointer, onChoose } };
}

// partOf is the part of a JSON text at a pointer, as text; null where the text has none.
function partOf(text: string, pointer: string): string | null {
  try {
    return JSON.stringify(valueAt(JSON.parse(text), wayOf(pointer)), null, 2).slice(0, LONGEST);
  } catch {
    return null;
  }
}
