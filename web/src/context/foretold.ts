import type { ChangeCost, ChangeInput, Preview } from '../api/types';
import { money, number } from '../components/format';

const DIGITS = 3; // of a number of tokens: it is an estimate

const tokens = (count: number) => number(Number(count.toPrecision(DIGITS)));

type Foretold = Pick<Preview, 'estimated_tokens' | 'cache' | 'cost'> & { change: ChangeCost };

// saysOf tells what a change will cost, as a sentence; nothing if nothing is known of it. Before the first call of a
// conversation there is nothing to lose.
export function saysOf(change: ChangeInput, shown: Foretold): string {
  if (shown.change.cache.with_id === null) return '';
  return change.edit ? edited(shown) : changed(shown);
}

// edited tells what the edited message costs: what it costs more than at the conversation's end would mean little to
// the one who edits.
function edited({ estimated_tokens, cache, cost }: Foretold): string {
  const cached = cache.likely ? cache.tokens : 0;
  const price = cache.likely ? cost.input_cached : cost.input;
  const rest = cached > 0 ? `, ${tokens(cached)} from the cache` : '';
  return `Sends ${tokens(estimated_tokens - cached)} tokens at full price${rest}${price ? `: about ${money(price)}` : ''}.`;
}

function changed({ estimated_tokens, cache, change }: Foretold): string {
  const { extra } = change;
  const resent = resentBy(change, estimated_tokens - cache.tokens);
  if (resent > 0) {
    const says = `Resends ${tokens(resent)} tokens at full price`;
    if (!extra) return `${says} with the next message.`;
    return extra > 0 ? `${says}: about ${money(extra)} more with the next message.` : `${says}, but the next message costs about ${money(-extra)} less.`;
  }
  if (extra) return `The next message costs about ${money(Math.abs(extra))} ${extra > 0 ? 'more' : 'less'}.`;
  if (!change.cache.likely) return '';
  return change.cache.tokens > 0 && change.lost_tokens === 0 ? 'Costs nothing more: what is cached stays cached.' : 'Costs nothing more.';
}

// resentBy counts the tokens that a cache would have held, and that are sent at full price after the change. What a
// change leaves out of the request is lost to the cache too, but not sent.
function resentBy({ cache, estimated_tokens, lost_tokens }: ChangeCost, full: number): number {
  return cache.likely ? Math.min(lost_tokens, full - (estimated_tokens - cache.tokens)) : 0;
}
