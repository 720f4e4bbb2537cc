export interface Line {
  kind: 'same' | 'added' | 'removed';
  text: string;
}

// diffLines compares two texts by their longest common subsequence of lines.
export function diffLines(before: string[], after: string[]): Line[] {
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
