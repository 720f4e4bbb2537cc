import hljs from 'highlight.js/lib/common';

export interface Run {
  text: string;
  scope: string; // class names, '' for none
}

interface Node {
  scope?: string;
  children: (Node | string)[];
}

// highlight splits code into runs of one colour; code in an unknown language is one run.
export function highlight(text: string, language: string): Run[] {
  if (!hljs.getLanguage(language)) return [{ text, scope: '' }];
  const result = hljs.highlight(text, { language, ignoreIllegals: true });
  const runs: Run[] = [];
  const walk = (node: Node | string, scope: string) => {
    if (typeof node === 'string') {
      runs.push({ text: node, scope });
      return;
    }
    const own = node.scope ? node.scope.split('.').map((part, i) => (i === 0 ? `hljs-${part}` : `${part}_`)).join(' ') : scope;
    for (const child of node.children) walk(child, own);
  };
  walk((result._emitter as unknown as { rootNode: Node }).rootNode, '');
  return runs;
}
