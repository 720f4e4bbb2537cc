import type { Token } from 'marked';
import remend from 'remend';
import { tokens } from './lexer';

const HELD = 2; // blocks at the end that more text may still change

export interface Block {
  key: number; // its position, which never changes
  token: Token;
  closed: boolean; // nothing that follows changes it
}

function lex(text: string): Token[] {
  return tokens(text).filter((token) => token.type !== 'space');
}

// Blocks parses a growing text: only the part after the last closed block is parsed again.
// The complete text is parsed once more, because a link's definition may follow its use.
export class Blocks {
  private text = '';
  private closed: Block[] = [];
  private at = 0; // start of the open tail
  private whole: Block[] | null = null;

  read(text: string, complete: boolean): Block[] {
    if (complete) {
      if (!this.whole || this.text !== text) {
        this.text = text;
        this.whole = lex(text).map((token, key) => ({ key, token, closed: true }));
      }
      return this.whole;
    }
    if (!text.startsWith(this.text.slice(0, this.at))) this.reset(); // started over
    this.whole = null;
    this.text = text;
    const tail = tokens(text.slice(this.at));
    const solid = tail.filter((token) => token.type !== 'space').length;
    let closing = solid - HELD;
    while (closing > 0) {
      const token = tail.shift()!;
      this.at += token.raw.length;
      if (token.type === 'space') continue;
      this.closed.push({ key: this.closed.length, token, closed: true });
      closing--;
    }
    const open = lex(remend(text.slice(this.at)));
    return [...this.closed, ...open.map((token, i) => ({ key: this.closed.length + i, token, closed: false }))];
  }

  private reset(): void {
    this.closed = [];
    this.at = 0;
  }
}
