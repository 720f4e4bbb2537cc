// shownJSON is JSON with line ends and indentation, for people, unless reading it as numbers of this machine would change
// it: then it is the text as it is stored.
export function shownJSON(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return JSON.stringify(value) === text ? `${JSON.stringify(value, null, 2)}\n` : text;
  } catch {
    return text;
  }
}

// versionBody is the body of a request that writes a version. JSON goes as it was written: its digits stay.
export function versionBody(kind: string, text: string, rest: Record<string, unknown>): string {
  if (kind !== 'json') return JSON.stringify({ ...rest, content: text });
  JSON.parse(text); // throws what is wrong with it, before the server is asked
  return `${JSON.stringify({ ...rest, content: 0 }).slice(0, -2)}${text}}`;
}
