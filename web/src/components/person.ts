import { request } from '../api/http';
import type { ID } from '../api/types';
import { feed } from '../live/feed';

const KEY = 'parley.person';
const ANYBODYS = ['parley.theme', 'parley.grouping']; // the page's appearance

// belongTo assigns this browser's stored data (drafts, choices, what was seen) to a
// person, and deletes another person's.
export function belongTo(person: ID): void {
  if (localStorage.getItem(KEY) !== person) forget();
  localStorage.setItem(KEY, person);
}

function forget(): void {
  for (const name of Object.keys(localStorage)) {
    if (name.startsWith('parley.') && !ANYBODYS.includes(name)) localStorage.removeItem(name);
  }
}

// signOut signs out every tab, and leaves no data of the person behind.
export function signOut(): void {
  void request('/v1/sign-in', { method: 'DELETE' }).then(() => {
    forget();
    feed.renew();
  });
}
