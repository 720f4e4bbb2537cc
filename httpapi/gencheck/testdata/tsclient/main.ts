// Has a conversation through openapi-fetch with the types that openapi-typescript wrote.
import createClient from 'openapi-fetch';
import type { Session, Message, paths } from './api.js';

const client = createClient<paths>({ baseUrl: process.argv[2]! });

function must<T>(answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

// words is what a message says; its role tells which members its content has.
function words(message: Message): string {
  switch (message.role) {
    case 'tool_call':
      return message.content.name;
    case 'tool_result':
      return message.content.success ? 'succeeded' : message.content.error ?? '';
    case 'summary':
    case 'system':
      return message.content.text;
    default:
      return message.content.text ?? '';
  }
}

const session: Session = must(await client.POST('/v1/sessions', { body: { model: 'sim/echo' } }));
const at = { params: { path: { session: session.id } } };
const body = { content: { text: 'Hello from TypeScript' } };
const frames: string = must(await client.POST('/v1/sessions/{session}/messages/stream', { ...at, body, parseAs: 'text' }));
if (!frames.includes('event: session.completed')) throw new Error(frames);

const messages = must(await client.GET('/v1/sessions/{session}/messages', at));
const said = messages.data.map(words);
if (said.length !== 2 || !said[1]?.includes('Hello from TypeScript')) throw new Error(JSON.stringify(said));

const turns = must(await client.GET('/v1/sessions/{session}/turns', at));
const missing = await client.GET('/v1/agents/{agent}', { params: { path: { agent: 'nobody' } } });
console.log(session.status, turns.data.length, missing.error?.code);
