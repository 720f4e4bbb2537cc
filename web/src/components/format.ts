// Formats for numbers and times.

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const whole = new Intl.NumberFormat();
const short = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });

export function time(at: string): string {
  const date = new Date(at);
  return sameDay(date, new Date()) ? clock.format(date) : day.format(date);
}

export function fullTime(at: string | null): string {
  return at ? full.format(new Date(at)) : '–';
}

export function number(n: number): string {
  return whole.format(n);
}

export function compact(n: number): string {
  return n < 1000 ? whole.format(n) : short.format(n);
}


// money formats US dollars with cents, or three significant digits below a dollar; null is unknown.
export function money(dollars: number | null): string {
  if (dollars === null) return 'unknown';
  const sum = Math.abs(dollars);
  if (sum < 1e-9) return '$0'; // the record counts in billionths
  const text = sum >= 1 ? sum.toFixed(2) : sum.toFixed(Math.min(9, 2 - Math.floor(Math.log10(sum)))).replace(/0+$/, '');
  return dollars < 0 ? `−$${text}` : `$${text}`;
}

export function duration(ms: number | null): string {
  if (ms === null) return '–';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

function sameDay(a: Date, b: Date): boolean {
  return a.toDateString() === b.toDateString();
}

// dayName groups a list by date.
export function dayName(at: string, now = new Date()): string {
  const date = new Date(at);
  const days = Math.round((new Date(now.toDateString()).getTime() - new Date(date.toDateString()).getTime()) / 86_400_000);
  if (days <= 0) return 'Today';
  if (days === 1) return 'Yesterday';
  if (days < 7) return 'Past week';
  if (days < 31) return 'Past month';
  return 'Older';
}
