// rank says how well a name matches the typed text, from 0 (not at all) to 1: the whole
// name, its beginning, the beginning of a word in it, a part of it, all words somewhere.
export function rank(name: string, typed: string): number {
  const [inside, text] = [name.toLowerCase(), typed.trim().toLowerCase()];
  const at = inside.indexOf(text);
  if (inside === text) return 1;
  if (at === 0) return 0.9;
  if (at > 0) return /[\p{L}\p{N}]/u.test(inside[at - 1]!) && !` ${inside}`.includes(` ${text}`) ? 0.6 : 0.8;
  return text.split(/\s+/).every((word) => inside.includes(word)) ? 0.5 : 0;
}
