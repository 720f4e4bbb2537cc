// The tab's title: what is shown, and before it the number of things that wait for the person.

let shown = 'Parley';
let count = 0;

const MOST = 99; // beyond it only that there are more

// counted shortens a number for badges.
export function counted(n: number): string {
  return n > MOST ? `${MOST}+` : String(n);
}

function tell(): void {
  document.title = count > 0 ? `(${counted(count)}) ${shown}` : shown;
}

// titled names what the tab shows.
export function titled(title: string): void {
  shown = title;
  tell();
}

// waiting says how many things wait for the person.
export function waiting(n: number): void {
  if (count === n) return;
  count = n;
  tell();
}
