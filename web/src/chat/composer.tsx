import { ArrowUp, Brain, Globe, Loader2, Paperclip, Square, X } from 'lucide-react';
import { type KeyboardEvent, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { passes, request, sentence } from '../api/http';
import type { During, ID, Session } from '../api/types';
import { typing } from '../components/shortcuts';
import { cx, IconButton } from '../components/ui';
import { outbox, useOutbox } from '../live/outbox';
import { coarse } from './coarse';
import { keepDraft, readDraft } from './draft';
import { focusComposer, takeWriteOn } from './focus';
import { askedFor } from './summarising';
import { useDropped } from './usedropped';
import { useFiles } from './usefile';

export interface Written {
  content: { text: string; files?: ID[]; think?: true; search?: true };
  during?: During;
}

// Abilities are what the model offers beside answering: nothing else is asked of it.
export interface Abilities {
  think: boolean;
  search: boolean;
}

interface Props {
  draftKey: string;
  placeholder: string;
  running?: boolean;
  disabled?: string; // the reason why nothing can be sent
  focused?: boolean; // takes the focus when it appears, except where that opens an on-screen keyboard
  abilities: Abilities;
  session: ID | null; // null: the message begins a conversation
  post: (message: Written) => { path: string; body: unknown };
  onSent?: (answer: Session | undefined) => void;
  onStop?: () => Promise<void>;
  onCompact?: (instructions: string) => void; // instead of sending /compact
  children?: ReactNode; // controls next to the buttons
}

const TALLEST = 280; // pixels
const PRESSED = 'bg-accent-soft text-accent-strong';
const KEPT = 'The server does not respond. Your message is kept here and will be sent as soon as it does, wherever you are by then.';

// Composer is the field for a message. It is cleared once the server has the message.
export function Composer({ draftKey, placeholder, running, disabled, focused, abilities, session, post, onSent, onStop, onCompact, children }: Props) {
  const [text, setText] = useState(() => readDraft(draftKey));
  const [during, setDuring] = useState<During>('queue');
  const [sending, setSending] = useState(false);
  const [error, setError] = useState('');
  const kept = useOutbox().find((one) => one.draft === draftKey); // the server did not respond: the outbox sends it
  const [think, setThink] = useState(false);
  const [search, setSearch] = useState(false);
  const [held, setHeld] = useState(false); // sent as soon as its files are uploaded
  const attached = useFiles();
  const over = useDropped(attached.add);
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const key = useRef(crypto.randomUUID());
  useLayoutEffect(() => {
    const area = field.current!;
    area.style.height = 'auto';
    area.style.height = `${Math.min(TALLEST, area.scrollHeight)}px`;
  }, [text]);
  useEffect(() => {
    if ((takeWriteOn() || focused) && !coarse()) field.current?.focus();
    // oxlint-disable-next-line exhaustive-deps -- as it appears
  }, []);
  const write = (next: string) => {
    setText(next);
    keepDraft(draftKey, next);
    setHeld(false);
    if (kept) outbox.take(kept.key); // it is written anew
    key.current = crypto.randomUUID();
  };
  const empty = text.trim() === '' && attached.files.length === 0;
  const send = async () => {
    if (empty || sending || disabled) return;
    const instructions = onCompact && attached.files.length === 0 ? askedFor(text) : undefined;
    if (instructions !== undefined) {
      write('');
      return onCompact?.(instructions);
    }
    if (attached.refused.length > 0) {
      setHeld(false);
      setError(`Not uploaded: ${attached.refused.map((one) => one.name).join(', ')}. Remove it, or attach it again.`);
      return;
    }
    setHeld(!attached.ready); // it is sent when its files are uploaded
    if (!attached.ready) return;
    if (kept) return outbox.release(kept.key);
    setSending(true);
    setError('');
    const content = {
      text,
      ...(attached.ids.length > 0 ? { files: attached.ids } : {}),
      ...(think && abilities.think ? { think: true as const } : {}),
      ...(search && abilities.search ? { search: true as const } : {}),
    };
    const { path, body } = post({ content, ...(running ? { during } : {}) });
    try {
      accepted(await request<Session | undefined>(path, { body, key: key.current }));
    } catch (failure) {
      if (passes(failure)) outbox.put({ key: key.current, draft: draftKey, session, path, body, text, refused: '', hold: false });
      else setError(sentence(failure)); // the draft and its key stay
    } finally {
      setSending(false);
      field.current?.focus();
    }
  };
  const accepted = (answer: Session | undefined) => {
    write('');
    setError('');
    attached.clear();
    onSent?.(answer);
  };
  const latest = useRef(accepted);
  latest.current = accepted;
  useEffect(() => outbox.onSent(draftKey, (answer) => latest.current(answer)), [draftKey]);
  useEffect(() => {
    if (held && attached.ready) void send();
  }); // oxlint-disable-line exhaustive-deps -- whatever made them ready
  const stop = () => {
    setError('');
    focusComposer(); // the button is about to disappear
    return onStop?.().catch((failure: unknown) => setError(sentence(failure)));
  };
  const escaped = useRef(stop);
  escaped.current = () => (text === '' ? stop() : undefined); // Escape in a half-written message may mean something else
  useEffect(() => {
    if (!running) return;
    const onEscape = (event: globalThis.KeyboardEvent) => {
      if (event.key === 'Escape' && !event.defaultPrevented && !typing(event.target)) void escaped.current();
    };
    addEventListener('keydown', onEscape);
    return () => removeEventListener('keydown', onEscape);
  }, [running]);
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing && !coarse()) {
      event.preventDefault();
      void send();
    } else if (event.key === 'Escape' && text === '' && running) {
      event.preventDefault();
      void stop();
    }
  };
  return (
    <div className="mx-auto w-full max-w-3xl px-4 pb-4">
      {(error || kept || disabled) && (
        <p role="alert" className="mb-2 rounded-lg bg-bad-soft px-3 py-2 text-sm text-bad">
          {error || (kept ? kept.refused || KEPT : disabled)}
        </p>
      )}
      <div
        className={cx('rounded-2xl border bg-bg shadow-pop transition-colors', over ? 'border-accent' : 'border-line-strong focus-within:border-accent')}
      >
        {attached.files.length > 0 && (
          <ul aria-label="Attached files" className="flex flex-wrap gap-2 px-3 pt-3">
            {attached.files.map((one) => (
              <li key={one.key} className={cx('flex items-center gap-1.5 rounded-lg border px-2 py-1 text-xs', one.error ? 'border-bad text-bad' : 'border-line text-soft')}>
                <span className="max-w-48 truncate">{one.name}</span>
                {!one.file && !one.error && <span>uploading {Math.round(one.share * 100)} %</span>}
                {one.error && <span>{one.error}</span>}
                <button type="button" aria-label={`Remove ${one.name}`} onClick={() => {
                    attached.remove(one.key);
                    field.current?.focus();
                  }}>
                  <X size={12} />
                </button>
              </li>
            ))}
          </ul>
        )}
        <textarea
          ref={field}
          data-composer
          aria-label="Message"
          rows={1}
          value={text}
          placeholder={over ? 'Drop the files to attach them' : placeholder}
          readOnly={sending}
          onChange={(event) => write(event.target.value)}
          onKeyDown={onKey}
          onPaste={(event) => {
            if (event.clipboardData.files.length > 0) {
              event.preventDefault();
              attached.add(event.clipboardData.files);
            }
          }}
          className="block max-h-[40dvh] w-full resize-none bg-transparent px-4 pt-3 pb-1 text-[15px] outline-none placeholder:text-faint focus-visible:outline-none"
        />
        <div className="flex items-center gap-1 px-2 pb-2">
          <IconButton name="Attach files" onClick={() => picker.current?.click()}>
            <Paperclip size={17} />
          </IconButton>
          <input ref={picker} type="file" multiple hidden aria-label="Files" onChange={(event) => event.target.files && attached.add(event.target.files)} />
          {abilities.think && (
            <IconButton name="Think first" aria-pressed={think} onClick={() => setThink(!think)} className={cx(think && PRESSED)}>
              <Brain size={17} />
            </IconButton>
          )}
          {abilities.search && (
            <IconButton name="Search the web" aria-pressed={search} onClick={() => setSearch(!search)} className={cx(search && PRESSED)}>
              <Globe size={17} />
            </IconButton>
          )}
          {children}
          <span role="status" className="min-w-0 flex-1 truncate px-1 text-xs text-soft">
            {held && 'Will be sent when its files are uploaded…'}
          </span>
          {running && (
            <select
              aria-label="What a message does now"
              value={during}
              onChange={(event) => setDuring(event.target.value as During)}
              className="h-8 rounded-lg bg-transparent px-2 text-xs text-soft hover:bg-hover"
            >
              <option value="queue">Queue</option>
              <option value="steer">Steer this turn</option>
              <option value="interrupt">Interrupt</option>
            </select>
          )}
          {running && onStop && (
            <IconButton name="Stop" onClick={() => void stop()} className="border border-line-strong text-text">
              <Square size={13} fill="currentColor" />
            </IconButton>
          )}
          <IconButton
            name="Send"
            data-filled
            disabled={empty || sending || !!disabled || held}
            onClick={() => void send()}
            className="border border-transparent bg-accent text-on-accent hover:bg-accent-strong hover:text-on-accent disabled:border-line-strong disabled:bg-sunken disabled:text-soft disabled:opacity-100"
          >
            {sending || held ? <Loader2 size={17} className="animate-spin" /> : <ArrowUp size={17} />}
          </IconButton>
        </div>
      </div>
    </div>
  );
}
