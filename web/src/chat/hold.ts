import { Problem, request } from '../api/http';
import type { ID, Message } from '../api/types';
import { outbox } from '../live/outbox';
import type { Transcript } from '../live/transcript';

// hold takes a queued message out of the queue and keeps it in this browser, until its
// writer sends it. It is kept before it leaves the queue, so that it is always somewhere.
async function hold(message: Message): Promise<void> {
  const { parts, think, search } = message.content;
  const content = { parts, ...(think ? { think } : {}), ...(search ? { search } : {}) };
  const key = crypto.randomUUID();
  outbox.put({ key, draft: `held.${message.id}`, session: message.session_id, path: `/v1/sessions/${message.session_id}/messages`, body: { role: 'user', content }, text: message.content.text ?? '', refused: '', hold: true });
  try {
    await request(`/v1/messages/${message.id}`, { method: 'DELETE' });
  } catch (failure) {
    outbox.take(key); // it stays in the queue, or has entered the conversation
    if (!(failure instanceof Problem && failure.status < 500)) throw failure;
  }
}

// stopHere stops the running turn. What its writer had queued behind it does not begin by
// itself: it is held.
export async function stopHere(transcript: Transcript, mine: (author: ID) => boolean): Promise<void> {
  const { turn } = transcript.activity;
  await Promise.all(transcript.queue.flatMap(({ message }) => (mine(message.author.id) ? [hold(message)] : [])));
  await request(`/v1/sessions/${transcript.id}/cancel`, { method: 'POST', body: turn ? { turn_id: turn } : {} });
}
