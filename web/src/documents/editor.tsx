import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { bracketMatching, defaultHighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { EditorState } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { useEffect, useRef } from 'react';
import type { Artifact } from '../api/types';

const LOOK = EditorView.theme({
  '&': { height: '65dvh', fontSize: '13px', backgroundColor: 'var(--color-code)', color: 'var(--color-text)', borderRadius: '12px', border: '1px solid var(--color-line)' },
  '&.cm-focused': { outline: '2px solid var(--color-accent)' },
  '.cm-content': { fontFamily: 'var(--font-mono)', caretColor: 'var(--color-text)' },
  '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--color-faint)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--color-hover)' },
  '.cm-cursor': { borderLeftColor: 'var(--color-text)' },
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': { backgroundColor: 'var(--color-accent-soft) !important' },
  '.cm-panels': { backgroundColor: 'var(--color-raised)', color: 'var(--color-text)' },
});

// Editor edits a text. Escape leaves the keyboard's way out free: then Tab moves on instead of indenting.
export function Editor({ kind, text, name, onChange, onSave }: { kind: Artifact['kind']; text: string; name: string; onChange: (text: string) => void; onSave: () => void }) {
  const here = useRef<HTMLDivElement>(null);
  const calls = useRef({ onChange, onSave });
  calls.current = { onChange, onSave };
  useEffect(() => {
    const view = new EditorView({
      parent: here.current!,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(),
          history(),
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          highlightActiveLine(),
          highlightSelectionMatches(),
          syntaxHighlighting(defaultHighlightStyle),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': `Text of ${name}` }),
          LOOK,
          kind === 'json' ? json() : [],
          keymap.of([
            {
              key: 'Mod-s',
              run: () => {
                calls.current.onSave();
                return true;
              },
            },
            indentWithTab,
            ...defaultKeymap,
            ...historyKeymap,
            ...searchKeymap,
          ]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) calls.current.onChange(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.focus();
    return () => view.destroy();
  }, [kind, name]); // oxlint-disable-line exhaustive-deps -- the text is the editor's from then on
  return <div ref={here} />;
}
