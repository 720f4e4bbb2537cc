import type { StreamEvent } from '../api/events';
import { connect, type Link } from './link';
import type { LinkState } from './protocol';

type Listener = (event: StreamEvent) => void;

// Feed is this tab's end of the page's one connection.
class Feed {
  readonly tab = crypto.randomUUID();
  private link: Link | null = null;
  private state: LinkState = 'connecting';
  private watched = new Map<string, { after: number; listeners: Set<Listener> }>();
  private listeners = new Set<Listener>(); // of the workspace
  private stateListeners = new Set<() => void>();

  // start connects; end is for the tab's end.
  start(): void {
    if (this.link) return;
    this.link = connect(
      this.tab,
      (message) => {
        if (message.kind === 'state') this.become(message.state);
        else if (message.kind === 'renewed') location.reload();
        else this.pass(message.event);
      },
      () => this.tell(),
    );
    window.addEventListener('pagehide', () => this.link?.send({ kind: 'leave', tab: this.tab }));
    window.addEventListener('pageshow', (event) => {
      if (event.persisted) location.reload(); // a page from the back/forward cache has lost its position
    });
  }

  // renew reconnects every tab after somebody has signed in or out.
  renew(): void {
    this.link?.send({ kind: 'renew', tab: this.tab });
    location.reload();
  }

  // watch follows a session's events after a given one. The returned function ends it.
  watch(session: string, after: number, listener: Listener): () => void {
    const known = this.watched.get(session);
    if (known) {
      known.listeners.add(listener);
    } else {
      this.watched.set(session, { after, listeners: new Set([listener]) });
      this.tell();
    }
    return () => {
      const watched = this.watched.get(session);
      watched?.listeners.delete(listener);
      if (watched?.listeners.size === 0) {
        this.watched.delete(session);
        this.tell();
      }
    };
  }

  // onWorkspace listens for list changes and resync.
  onWorkspace(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  onState = (listener: () => void): (() => void) => {
    this.stateListeners.add(listener);
    return () => this.stateListeners.delete(listener);
  };

  linkState = (): LinkState => this.state;

  private tell(): void {
    const sessions: Record<string, number> = {};
    for (const [session, watched] of this.watched) sessions[session] = watched.after;
    this.link?.send({ kind: 'watch', tab: this.tab, sessions });
  }

  private pass(event: StreamEvent): void {
    if (event.session_id) {
      const watched = this.watched.get(event.session_id);
      if (watched) {
        if (event.sequence) {
          if (event.sequence <= watched.after) return;
          watched.after = event.sequence;
        }
        for (const listener of watched.listeners) listener(event);
      }
    } // a resync without a session is about lists: sessions are replayed from their position
    for (const listener of this.listeners) listener(event);
  }

  private become(state: LinkState): void {
    this.state = state;
    for (const listener of this.stateListeners) listener();
  }
}

export const feed = new Feed();
