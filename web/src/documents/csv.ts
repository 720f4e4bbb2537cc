// tableOf reads comma-separated values (RFC 4180): rows of fields, of which the first may be their names. Rows beyond
// most are only counted.
export function tableOf(text: string, most: number): { rows: string[][]; left: number } {
  const rows: string[][] = [];
  let left = 0;
  let row: string[] = [];
  let at = 0;
  const end = () => {
    if (rows.length < most) rows.push(row);
    else left++;
    row = [];
  };
  while (at < text.length) {
    let field = '';
    if (text[at] === '"') {
      for (at++; at < text.length; at++) {
        if (text[at] !== '"') field += text[at];
        else if (text[at + 1] === '"') field += text[at++];
        else break;
      }
      at++;
    }
    let stop = at; // also of what follows a closing quote
    while (stop < text.length && text[stop] !== ',' && text[stop] !== '\n') stop++;
    row.push(field + text.slice(at, stop).replace(/\r$/, ''));
    if (text[stop] !== ',') end();
    else if (stop + 1 === text.length) {
      row.push('');
      end();
    }
    at = stop + 1;
  }
  return { rows, left };
}
