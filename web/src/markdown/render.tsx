import type { Token, Tokens } from 'marked';
import { Fragment, type ReactNode } from 'react';
import { CodeBlock } from './code';
import { MATH, SOURCE, type Source } from './lexer';
import { DocumentLink, documentIn } from './document';
import { SourceLink } from './source';

// Tokens become React elements: raw HTML stays text, links may only use http, https and
// mailto or lead to a document, and no image is fetched.

const SAFE = /^(https?:|mailto:)/i;

export function blockOf(token: Token, closed: boolean): ReactNode {
  switch (token.type) {
    case 'heading': {
      const heading = token as Tokens.Heading;
      const Tag = `h${Math.min(6, heading.depth + 1)}` as 'h2';
      return (
        <Tag data-depth={heading.depth} dir="auto">
          {inline(heading.tokens)}
        </Tag>
      );
    }
    case 'paragraph':
      return <p dir="auto">{inline((token as Tokens.Paragraph).tokens)}</p>;
    case 'code': {
      const code = token as Tokens.Code;
      return <CodeBlock text={code.text} language={code.lang?.split(/\s/)[0] ?? ''} closed={closed} />;
    }
    case 'blockquote':
      return <blockquote dir="auto">{blocks((token as Tokens.Blockquote).tokens, closed)}</blockquote>;
    case 'list': {
      const list = token as Tokens.List;
      const items = list.items.map((item, i) => (
        <li key={i} dir="auto" className={item.task ? 'task' : undefined}>
          {item.task && <input type="checkbox" checked={item.checked ?? false} readOnly disabled aria-label={item.checked ? 'done' : 'to do'} />}
          {blocks(item.tokens.filter((one) => one.type !== 'checkbox'), closed)}
        </li>
      ));
      return list.ordered ? <ol dir="auto" start={list.start === '' ? 1 : list.start}>{items}</ol> : <ul dir="auto">{items}</ul>;
    }
    case 'table': {
      const table = token as Tokens.Table;
      return (
        <div className="table-scroll" tabIndex={0} role="region" aria-label="Table">
        <table dir="auto">
          <thead>
            <tr>
              {table.header.map((cell, i) => (
                <th key={i} scope="col" dir="auto" data-align={cell.align ?? undefined}>{inline(cell.tokens)}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {table.rows.map((row, i) => (
              <tr key={i}>
                {row.map((cell, j) => (
                  <td key={j} dir="auto" data-align={cell.align ?? undefined}>{inline(cell.tokens)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
        </div>
      );
    }
    case 'hr':
      return <hr />;
    case 'space':
    case 'def':
      return null;
    case 'text':
      return <>{piece(token)}</>;
    case MATH:
      return (
        <p dir="ltr" className="math whitespace-pre-wrap">
          {token.raw.trim()}
        </p>
      );
  }
  return <p dir="auto" className="whitespace-pre-wrap">{token.raw}</p>; // raw HTML and unknown tokens
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
    case 'em':
    case 'del': {
      const Tag = token.type;
      return <Tag>{inline(token.tokens)}</Tag>;
    }
    case SOURCE: {
      const { session, sequence } = token as unknown as Source;
      return <SourceLink session={session} sequence={sequence} />;
    }
    case 'codespan':
      return <code>{plain((token as Tokens.Codespan).text)}</code>;
    case MATH:
      return (
        <span dir="ltr" className="math">
          {token.raw}
        </span>
      );
    case 'checkbox': // the item shows it
      return null;
    case 'br':
      return <br />;
    case 'link': {
      const link = token as Tokens.Link;
      const document = documentIn(link.href);
      if (document) return <DocumentLink id={document}>{inline(link.tokens)}</DocumentLink>;
      return SAFE.test(link.href) ? anchor(link.href, inline(link.tokens)) : <>{inline(link.tokens)}</>;
    }
    case 'image': {
      const image = token as Tokens.Image;
      const name = `image: ${image.text || image.href}`;
      return SAFE.test(image.href) ? anchor(image.href, name) : <>{name}</>;
    }
    case 'escape':
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
