import type { Token, Tokens } from 'marked';
import { Fragment, type ReactNode } from 'react';
import { CodeBlock } from './code';

// Tokens become React elements: raw HTML stays text, links may only use http, https and
// mailto, and no image is fetched.

const SAFE = /^(https?:|mailto:)/i;

export function blockOf(token: Token, closed: boolean): ReactNode {
  switch (token.type) {
    case 'heading': {
      const heading = token as Tokens.Heading;
      const Tag = `h${Math.min(6, heading.depth + 2)}` as 'h3';
      return <Tag className={heading.depth < 3 ? 'text-lg' : undefined}>{inline(heading.tokens)}</Tag>;
    }
    case 'paragraph':
      return <p>{inline((token as Tokens.Paragraph).tokens)}</p>;
    case 'code': {
      const code = token as Tokens.Code;
      return <CodeBlock text={code.text} language={code.lang?.split(/\s/)[0] ?? ''} closed={closed} />;
    }
    case 'blockquote':
      return <blockquote>{blocks((token as Tokens.Blockquote).tokens, closed)}</blockquote>;
    case 'list': {
      const list = token as Tokens.List;
      const items = list.items.map((item, i) => (
        <li key={i} className={item.task ? 'list-none' : undefined}>
          {item.task && <input type="checkbox" checked={item.checked} readOnly disabled aria-label={item.checked ? 'done' : 'to do'} className="-ml-5 mr-2" />}
          {blocks(item.tokens, closed)}
        </li>
      ));
      return list.ordered ? <ol start={list.start === '' ? 1 : list.start}>{items}</ol> : <ul>{items}</ul>;
    }
    case 'table': {
      const table = token as Tokens.Table;
      return (
        <table>
          <thead>
            <tr>
              {table.header.map((cell, i) => (
                <th key={i} scope="col">{inline(cell.tokens)}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {table.rows.map((row, i) => (
              <tr key={i}>
                {row.map((cell, j) => (
                  <td key={j}>{inline(cell.tokens)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      );
    }
    case 'hr':
      return <hr />;
    case 'space':
    case 'def':
      return null;
    case 'text': {
      const text = token as Tokens.Text;
      return text.tokens ? <>{inline(text.tokens)}</> : <>{plain(text.text)}</>;
    }
  }
  return <p className="whitespace-pre-wrap">{token.raw}</p>; // raw HTML and unknown tokens
}

function blocks(tokens: Token[], closed: boolean): ReactNode {
  return tokens.map((token, i) => <Fragment key={i}>{blockOf(token, closed)}</Fragment>);
}

function inline(tokens: Token[] | undefined): ReactNode {
  return tokens?.map((token, i) => <Fragment key={i}>{piece(token)}</Fragment>);
}

function piece(token: Token): ReactNode {
  switch (token.type) {
    case 'strong':
      return <strong>{inline((token as Tokens.Strong).tokens)}</strong>;
    case 'em':
      return <em>{inline((token as Tokens.Em).tokens)}</em>;
    case 'del':
      return <del>{inline((token as Tokens.Del).tokens)}</del>;
    case 'codespan':
      return <code>{plain((token as Tokens.Codespan).text)}</code>;
    case 'br':
      return <br />;
    case 'escape':
      return plain((token as Tokens.Escape).text);
    case 'link': {
      const link = token as Tokens.Link;
      return SAFE.test(link.href) ? anchor(link.href, inline(link.tokens)) : <>{inline(link.tokens)}</>;
    }
    case 'image': {
      const image = token as Tokens.Image;
      const name = `image: ${image.text || image.href}`;
      return SAFE.test(image.href) ? anchor(image.href, name) : <>{name}</>;
    }
    case 'text': {
      const text = token as Tokens.Text;
      return text.tokens ? inline(text.tokens) : plain(text.text);
    }
  }
  return token.raw;
}

function anchor(href: string, children: ReactNode): ReactNode {
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

const ENTITIES: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" };

// plain undoes the lexer's escapes: React escapes by itself.
function plain(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity]!);
}
