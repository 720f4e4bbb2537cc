import { marked } from 'marked';
import { describe, expect, test } from 'vitest';
import { Blocks } from './blocks';

const TEXT = `# A heading

Some text with **bold**, a [link](https://example.com) and \`code\`.

- one
- two
  - nested

\`\`\`go
func main() {

}
\`\`\`

| a | b |
|---|---|
| 1 | 2 |

> quoted
> on two lines

The end, with a [reference][r].

[r]: https://example.com/r
`;

const whole = (text: string) => marked.lexer(text, { gfm: true, breaks: true }).filter((token) => token.type !== 'space');

describe('Blocks', () => {
  test('a text that grows in any pieces ends like the text parsed at once', () => {
    for (const size of [1, 3, 7, 50]) {
      const blocks = new Blocks();
      for (let end = size; end < TEXT.length; end += size) blocks.read(TEXT.slice(0, end), false);
      expect(blocks.read(TEXT, true).map((block) => block.token.raw)).toEqual(whole(TEXT).map((token) => token.raw));
    }
  });

  test('a closed block never changes', () => {
    const blocks = new Blocks();
    const seen: string[] = [];
    for (let end = 1; end <= TEXT.length; end++) {
      const closed = blocks.read(TEXT.slice(0, end), false).filter((block) => block.closed);
      closed.forEach((block, i) => {
        seen[i] ??= block.token.raw;
        expect(block.token.raw).toBe(seen[i]);
      });
    }
    expect(seen.length).toBeGreaterThan(4);
  });

  test('a growing text is parsed from its last closed block on, not from its beginning', () => {
    const paragraph = 'Lorem ipsum dolor sit amet.\n\n';
    const blocks = new Blocks();
    let read = 0;
    const lexer = marked.lexer;
    marked.lexer = ((text: string, options: never) => {
      read += text.length;
      return lexer(text, options);
    }) as typeof marked.lexer;
    try {
      for (let n = 1; n <= 400; n++) blocks.read(paragraph.repeat(n), false);
    } finally {
      marked.lexer = lexer;
    }
    expect(read).toBeLessThan(400 * paragraph.length * 10); // parsing it all each time would be 200 times the text
  });

  test('a text that starts over is parsed again', () => {
    const blocks = new Blocks();
    blocks.read('one\n\ntwo\n\nthree\n\nfour', false);
    expect(blocks.read('other\n\ntext', false).map((block) => block.token.raw.trim())).toEqual(['other', 'text']);
  });
});
