// Titles come from texts, and texts are Markdown: these are its marks, in pairs.
const PAIRS: [RegExp, string][] = [
  [/!?\[([^\]]*)\]\([^)\s]*\)/g, '$1'], // a link, by its text
  [/(?<!`)`([^`]+)`(?!`)/g, '$1'],
  [/(?<![\w*])(\*{1,3})(?=\S)([^*]*[^*\s])\1(?![\w*])/g, '$2'],
  [/(?<![\w_])(__|_)(?=\S)([^_]*[^_\s])\1(?![\w_])/g, '$2'],
  [/~~(?=\S)([^~]*[^~\s])~~/g, '$1'],
];
const HEADING = /^\s*(#{1,6}|>)\s+/;
const SOURCE = /\s*\[[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+\]/gi; // where a claim comes from
const CUT = /(^|\s)(\*\*|__|~~)(?=[^\s*_~])/g; // opened before the title was cut off

// plainTitle is a title without the marks of Markdown, for lists and tabs; a title is edited as it is.
export function plainTitle(title: string): string {
  let text = title.replace(HEADING, '').replace(SOURCE, '');
  for (const [pair, said] of PAIRS) text = text.replace(pair, said).replace(pair, said); // marks in marks
  return text.replace(CUT, '$1').trim();
}

// titleOf names a conversation.
export function titleOf({ title }: { title: string }, otherwise = 'Untitled'): string {
  return plainTitle(title) || otherwise;
}
