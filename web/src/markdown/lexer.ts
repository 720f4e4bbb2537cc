import { Marked, type Token, type TokenizerAndRendererExtension } from 'marked';

export const MATH = 'math';

// Formulas stay as they were written: Markdown would take their underscores and asterisks
// for emphasis, and their backslashes for escapes. A dollar sign before a space or after
// one, or before a digit at the end, is money.
const BLOCK = /^(?:\$\$[^]+?\$\$|\\\[[^]+?\\\])[ \t]*(?:\n+|$)/;
const INLINE = /^(?:\$\$(?!\s)[^$]+?\$\$|\$(?![\s$])(?:\\.|[^$\\\n])*?(?<!\s)\$(?!\d)|\\\((?:[^\n])+?\\\)|\\\[(?:[^\n])+?\\\])/;

const formula = (level: 'block' | 'inline', rule: RegExp, begins: RegExp): TokenizerAndRendererExtension => ({
  name: MATH,
  level,
  start: (text) => {
    const at = text.search(begins);
    return at < 0 ? undefined : at;
  },
  tokenizer: (text) => {
    const found = rule.exec(text);
    return found ? { type: MATH, raw: found[0] } : undefined;
  },
});

const lexer = new Marked({ gfm: true, breaks: true, extensions: [formula('block', BLOCK, /^(?:\$\$|\\\[)/m), formula('inline', INLINE, /\$|\\[([]/)] });

// tokens reads Markdown as models write it.
export function tokens(text: string): Token[] {
  return lexer.lexer(text);
}
