import type { PatchOperation, StepGenerating } from '../api/events';
import type { Message } from '../api/types';
import { isJson, type Json } from '../components/json';
import { patched } from './patch';

const FLUSH_MS = 50; // between two drawings of a streaming text, at least
const SLOW_MS = 12; // a drawing that takes longer makes the next one wait
const LONGEST_FLUSH_MS = 250;

type Kind = StepGenerating['kind'];

// LiveMessage is one message of the record, with its growing texts. It has subscribers
// of its own, so that a delta redraws one message and not the transcript.
export class LiveMessage {
  message: Message;
  object: Json | null = null; // of a structured answer, while it streams
  private texts: Record<Kind, { text: string; end: number }> = {
    text: { text: '', end: 0 },
    reasoning: { text: '', end: 0 },
    arguments: { text: '', end: 0 },
  };
  private listeners = new Set<() => void>();
  private version = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private pause = FLUSH_MS;

  constructor(message: Message) {
    this.message = message;
    this.take(message);
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  snapshot = (): number => this.version;

  text(kind: Kind): string {
    return this.texts[kind].text;
  }

  // silent reports whether there is nothing to read yet.
  get silent(): boolean {
    return !this.texts.text.text && !this.texts.reasoning.text && !this.message.content.refusal;
  }

  get streaming(): boolean {
    return this.message.status === 'streaming';
  }

  // replace takes the server's version of the message.
  replace(message: Message): void {
    // A text read while it streams is older than the deltas that arrived meanwhile.
    const keep = this.streaming && message.status === 'streaming';
    this.message = message;
    if (!this.streaming) this.object = null;
    if (!keep) this.take(message);
    this.draw();
  }

  // append applies a delta: it continues where the last one ended, or starts over.
  append(delta: StepGenerating): boolean {
    if (!this.streaming) return true; // late: the settled text is authoritative
    const text = this.texts[delta.kind];
    if (delta.offset === 0) text.text = delta.delta;
    else if (delta.offset === text.end) text.text += delta.delta;
    else return delta.end <= text.end; // known already, or a gap
    text.end = delta.end;
    this.timer ??= setTimeout(() => this.draw(), this.pause);
    return true;
  }

  // patch applies what an object has grown by. What does not apply is dropped: the settled object is authoritative.
  patch(operations: PatchOperation[]): void {
    if (!this.streaming) return;
    try {
      const grown = patched(this.object, operations);
      this.object = isJson(grown) ? grown : null;
    } catch {
      this.object = null; // the next patch of a new connection begins with all of it
    }
    this.timer ??= setTimeout(() => this.draw(), this.pause);
  }

  // drew reports how long the last drawing took: slow ones happen less often.
  drew(took: number): void {
    this.pause = took > SLOW_MS ? Math.min(LONGEST_FLUSH_MS, Math.max(FLUSH_MS, took * 6)) : FLUSH_MS;
  }

  private take(message: Message): void {
    const content = message.content ?? {};
    this.texts.text = { text: content.text ?? '', end: bytes(content.text) };
    this.texts.reasoning = { text: content.reasoning ?? '', end: bytes(content.reasoning) };
    const raw = content.arguments_text ?? (content.arguments ? JSON.stringify(content.arguments) : '');
    this.texts.arguments = { text: raw, end: bytes(raw) };
  }

  draw(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.version++;
    for (const listener of this.listeners) listener();
  }
}

const encoder = new TextEncoder();

function bytes(text: string | undefined): number {
  return text ? encoder.encode(text).length : 0;
}
