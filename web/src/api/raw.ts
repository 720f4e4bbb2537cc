// rawMember cuts the text of one member out of the text of a JSON object, unchanged.
// JSON.parse would lose its bytes: the spelling of numbers and escapes, and the order of
// keys that look like numbers.
export function rawMember(json: string, name: string): string {
  let at = json.indexOf('{') + 1;
  while (at > 0 && at < json.length) {
    const key = next(json, at);
    const value = next(json, json.indexOf(':', key.end) + 1);
    const text = json.slice(key.start, key.end);
    if (text.startsWith('"') && JSON.parse(text) === name) return json.slice(value.start, value.end);
    at = value.end;
    while (/\s/.test(json[at] ?? 'x')) at++;
    at = json[at] === ',' ? at + 1 : 0;
  }
  return '';
}

// next returns the start and end of the value that begins at or after a position.
function next(json: string, from: number): { start: number; end: number } {
  let start = from;
  while (/\s/.test(json[start] ?? 'x')) start++;
  let at = start;
  let depth = 0;
  do {
    const char = json[at];
    if (char === '"') {
      for (at++; at < json.length && json[at] !== '"'; at++) if (json[at] === '\\') at++;
    } else if (char === '{' || char === '[') depth++;
    else if (char === '}' || char === ']') depth--;
    else if (depth === 0) {
      while (at < json.length && !/[,:}\]\s]/.test(json[at]!)) at++;
      return { start, end: at };
    }
    at++;
  } while (depth > 0 && at < json.length);
  return { start, end: at };
}
