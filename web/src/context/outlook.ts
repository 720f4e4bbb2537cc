import type { LeftOut, Outlook } from '../api/types';
import { compact, number } from '../components/format';

export const FULL = 0.8; // of the way: above this the colour warns
export const NEAR = 0.5; // of the way to the next shortening, from which on the header tells it

// leftOf is the part of the way, in percent, that is left until a window is shortened: at least 1 until it is due.
export function leftOf({ share }: Outlook): number {
  return share >= 1 ? 0 : Math.max(1, Math.round(100 * (1 - share)));
}

const NEXT = {
  stubbed: ['until old results are shown by their size alone', 'Old results are shown by their size alone from the next message on'],
  covered: ['until older messages are summed up', 'A summary of older messages is due'],
  rule: ['until the oldest messages leave the window', 'The oldest messages leave the window now'],
  dropped: ['until the oldest messages are dropped', 'The oldest messages are dropped now'],
} as const;

// saysOf is what a window's meter says.
export function saysOf(outlook: Outlook): string {
  const [until, now] = NEXT[outlook.fate];
  const left = leftOf(outlook);
  return left > 0 ? `${left} % ${until}` : now;
}

// filledOf says how much of a window is used, by each of its bounds.
export function filledOf({ tokens, tokens_most, messages, messages_most }: Outlook): string {
  const of = [
    messages_most !== null && `${number(messages)} of ${number(messages_most)} messages`,
    tokens_most !== null && `about ${compact(tokens)} of ${compact(tokens_most)} tokens`,
  ];
  return of.filter(Boolean).join(', ');
}

// leftOutAt finds the run of messages left out that a sequence is in. The runs ascend.
export function leftOutAt(left: LeftOut[], sequence: number): LeftOut | undefined {
  let [low, high] = [0, left.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (left[middle]!.to < sequence) low = middle + 1;
    else high = middle;
  }
  const found = left[low];
  return found && found.from <= sequence ? found : undefined;
}

export type Fate = 'shown' | 'stubbed' | LeftOut['fate'];

// countsOf counts the messages of a record by what the model can still read of them. Each counts once.
export function countsOf(last: number, left: LeftOut[], stubbed: number): Record<Fate, number> {
  const counts = { shown: 0, stubbed, covered: 0, rule: 0, dropped: 0 };
  for (const one of left) counts[one.fate] += one.count;
  counts.shown = Math.max(0, last - stubbed - counts.covered - counts.rule - counts.dropped);
  return counts;
}
