import type { ID, Message } from '../api/types';

// Filter says whose messages an outline lists.
export type Filter = 'human' | 'assistant' | 'tool';

// Entry is one line of an outline: the message that it links to, and its text.
export interface Entry {
  message: Message;
  words: string;
  tools: Map<string, number>; // used for a question: name → calls
  failed: boolean;
}

const LONGEST = 160; // characters of a message

export const ROLES: Record<Filter, Message['role'][]> = {
  human: ['user', 'tool_call'], // calls show which tools a question used
  assistant: ['assistant', 'summary'],
  tool: ['tool_call', 'tool_result'],
};

// entriesOf makes lines, oldest first, from messages given newest first.
export function entriesOf(filter: Filter, newestFirst: Message[]): Entry[] {
  const messages = newestFirst.toReversed().filter((message) => !message.internal && message.sequence !== null);
  switch (filter) {
    case 'human':
      return questions(messages);
    case 'assistant':
      return messages.filter((message) => message.content.text || message.error).map((message) => entry(message, message.content.text || message.error!.sentence));
    case 'tool':
      return calls(messages);
  }
}

function entry(message: Message, text: string): Entry {
  const words = text.trim().replace(/\s+/g, ' ').slice(0, LONGEST);
  return { message, words: words || 'Files', tools: new Map(), failed: message.status === 'failed' };
}

// questions carry the calls that follow them. Calls whose question is on an earlier page wait for it.
function questions(messages: Message[]): Entry[] {
  const asked: Entry[] = [];
  for (const message of messages) {
    if (message.role === 'user') asked.push(entry(message, message.content.text ?? ''));
    else {
      const tools = asked.at(-1)?.tools;
      const name = message.tool_name ?? '…';
      tools?.set(name, (tools.get(name) ?? 0) + 1);
    }
  }
  return asked;
}

function calls(messages: Message[]): Entry[] {
  const failed = new Set<ID | null>(messages.flatMap((message) => (message.role === 'tool_result' && !message.content.success ? [message.tool_call_id] : [])));
  return messages
    .filter((message) => message.role === 'tool_call')
    .map((message) => ({ ...entry(message, `${message.tool_name} ${message.content.arguments_text ?? JSON.stringify(message.content.arguments ?? {})}`), failed: failed.has(message.tool_call_id) }));
}
