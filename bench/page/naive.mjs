// The page's reference: each delta parses and sets the whole text again and scrolls to
// its end. It gets the same feed, for the session in its address.
import { marked } from '/marked.mjs';

const [session, after] = location.hash.slice(1).split(':');
const scroller = document.querySelector('#scroller');
const answer = document.querySelector('#answer');
let text = '';
globalThis.deltas = 0;

const source = new EventSource(`/v1/events?session=${session}:${after}`);
source.addEventListener('step.generating', (event) => {
  const { data } = JSON.parse(event.data);
  if (data.kind !== 'text') return;
  text += data.delta;
  globalThis.deltas++;
  answer.innerHTML = marked.parse(text, { gfm: true, breaks: true });
  scroller.scrollTop = scroller.scrollHeight;
});
source.addEventListener('session.completed', () => (document.body.dataset.done = text.length));
