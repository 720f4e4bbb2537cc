export interface Line {
  kind: 'same' | 'added' | 'removed';
  text: string;
}

// diffLines compares two texts by their longest common subsequence of lines, skipping
// their common beginning and end.
export function diffLines(before: string[], after: string[]): Line[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < before.length - head && tail < after.length - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const same = (lines: string[]): Line[] => lines.map((text) => ({ kind: 'same', text }));
  return [...same(before.slice(0, head)), ...between(before.slice(head, before.length - tail), after.slice(head, after.length - tail)), ...same(before.slice(before.length - tail))];
}

function between(before: string[], after: string[]): Line[] {
  const rows = before.length + 1;
  const columns = after.length + 1;
  const longest = new Uint32Array(rows * columns);
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      longest[i * columns + j] = before[i] === after[j] ? longest[(i + 1) * columns + j + 1]! + 1 : Math.max(longest[(i + 1) * columns + j]!, longest[i * columns + j + 1]!);
    }
  }
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push({ kind: 'same', text: before[i]! });
      i++;
      j++;
    } else if (j >= after.length || (i < before.length && longest[(i + 1) * columns + j]! >= longest[i * columns + j + 1]!)) {
      lines.push({ kind: 'removed', text: before[i++]! });
    } else {
      lines.push({ kind: 'added', text: after[j++]! });
    }
  }
  return lines;
}

const AROUND = 3; // lines shown around a change

// folded leaves out the lines far from any change, and says how many.
export function folded(lines: Line[]): (Line | { kind: 'skipped'; text: string })[] {
  const near = lines.map(() => false);
  lines.forEach((line, at) => {
    if (line.kind !== 'same') near.fill(true, Math.max(0, at - AROUND), at + AROUND + 1);
  });
  const shown: (Line | { kind: 'skipped'; text: string })[] = [];
  for (let at = 0; at < lines.length; at++) {
    if (near[at]) {
      shown.push(lines[at]!);
      continue;
    }
    let end = at;
    while (end < lines.length && !near[end]) end++;
    shown.push({ kind: 'skipped', text: end - at === 1 ? '1 unchanged line' : `${end - at} unchanged lines` });
    at = end - 1;
  }
  return shown;
}
