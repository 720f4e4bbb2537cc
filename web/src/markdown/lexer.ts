import { Lexer, Marked, type Token, type TokenizerAndRendererExtension, type TokensList } from 'marked';

export const MATH = 'math';
export const SOURCE = 'source';

// Source is a message that a text names as [session:sequence]: where a claim comes from.
export interface Source {
  type: typeof SOURCE;
  raw: string;
  session: string;
  sequence: string;
}

// Formulas stay as they were written: Markdown would take their underscores and asterisks
// for emphasis, and their backslashes for escapes. A dollar sign before a space or after
// one, or before a digit at the end, is money.
const BLOCK = /^(?:\$\$[^]+?\$\$|\\\[[^]+?\\\])[ \t]*(?:\n+|$)/;
const INLINE = /^(?:\$\$(?!\s)[^$]+?\$\$|\$(?![\s$])(?:\\.|[^$\\\n])*?(?<!\s)\$(?!\d)|\\\((?:[^\n])+?\\\)|\\\[(?:[^\n])+?\\\])/;

const formula = (level: 'block' | 'inline', rule: RegExp, begins: RegExp): TokenizerAndRendererExtension => ({
  name: MATH,
  level,
  start: (text) => text.search(begins),
  tokenizer: (text) => {
    const found = rule.exec(text);
    return found ? { type: MATH, raw: found[0] } : undefined;
  },
});

// The server checks the sources of what agents send to people; Checked says which.
const NAMED = /^\[([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):(\d{1,15})\]/i;

const source: TokenizerAndRendererExtension = {
  name: SOURCE,
  level: 'inline',
  start: (text) => text.search(/\[[0-9a-f]{8}-/i),
  tokenizer: (text): Source | undefined => {
    const found = NAMED.exec(text);
    return found ? { type: SOURCE, raw: found[0], session: found[1]!, sequence: found[2]! } : undefined;
  },
};

const { defaults } = new Marked({ breaks: true, extensions: [formula('block', BLOCK, /^(?:\$\$|\\\[)/m), formula('inline', INLINE, /\$|\\[([]/), source] });

// A text may be written to stop every page that shows it: reading a line of brackets or
// asterisks takes time that grows with the square of its length, and each level of quotes
// and lists takes room on the stack. What is beyond these bounds stays as it was written.
const DEEPEST = 20; // levels of quotes and lists
const MOST_WORK = 200_000_000; // sum of the squares of the lengths of all that is read inside lines and paragraphs

class Bounded extends Lexer {
  private depth = 0;
  private left = MOST_WORK;

  override blockTokens(text: string, into: TokensList = [] as never, clipped?: boolean): TokensList {
    if (this.depth > DEEPEST) return plain(text, into);
    this.depth++;
    super.blockTokens(text, into, clipped);
    this.depth--;
    return into;
  }

  override inlineTokens(text: string, into: Token[] = []): Token[] {
    const work = text.length ** 2;
    if (work > this.left) return plain(text, into);
    this.left -= work;
    return super.inlineTokens(text, into);
  }
}

function plain<T extends Token[]>(raw: string, into: T): T {
  into.push({ type: 'plain', raw });
  return into;
}

// tokens reads Markdown as models write it.
export function tokens(text: string): Token[] {
  return new Bounded(defaults).lex(text);
}
