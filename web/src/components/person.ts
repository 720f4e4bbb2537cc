import { request } from '../api/http';
import type { ID } from '../api/types';
import { feed } from '../live/feed';

const KEY = 'parley.person';
const ANYBODYS = ['parley.theme', 'parley.grouping']; // how the page looks

// belongTo makes what this browser keeps (drafts, choices, what was seen) that of a
// person; another one's is forgotten.
export function belongTo(person: ID): void {
  if (localStorage.getItem(KEY) !== person) forget();
  localStorage.setItem(KEY, person);
}

function forget(): void {
  for (const name of Object.keys(localStorage)) {
    if (name.startsWith('parley.') && !ANYBODYS.includes(name)) localStorage.removeItem(name);
  }
}

// signOut ends it for every tab, and leaves nothing of the person behind.
export function signOut(): void {
  void request('/v1/sign-in', { method: 'DELETE' }).then(() => {
    forget();
    feed.renew();
  });
}
