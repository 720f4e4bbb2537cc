import { Hub } from './hub';
import type { FromTab, ToTab } from './protocol';

// Link connects a tab to the holder of the connection.
export interface Link {
  send(message: FromTab): void;
  end(): void;
}

const LOCK = 'parley.feed';
const CHANNEL = 'parley.feed';

// connect joins the holder of the connection: a SharedWorker, or without one the tab that
// has the lock, which the others reach over a BroadcastChannel. rejoin is called when
// another holder has taken over and needs the watched sessions again.
export function connect(tab: string, hear: (message: ToTab) => void, rejoin: () => void): Link {
  if (typeof SharedWorker !== 'undefined') return bySharedWorker(tab, hear);
  if (typeof BroadcastChannel !== 'undefined' && navigator.locks) return byElection(tab, hear, rejoin);
  return alone(tab, hear);
}

function bySharedWorker(tab: string, hear: (message: ToTab) => void): Link {
  const worker = new SharedWorker(new URL('./feed.worker.ts', import.meta.url), { type: 'module', name: 'parley-feed' });
  worker.port.onmessage = (event: MessageEvent<ToTab>) => hear(event.data);
  worker.port.postMessage({ kind: 'join', tab });
  return {
    send: (message) => worker.port.postMessage(message),
    end: () => worker.port.close(),
  };
}

function alone(tab: string, hear: (message: ToTab) => void): Link {
  const hub = new Hub((address) => new EventSource(address));
  hub.join(tab, hear);
  return { send: (message) => hub.hear(message), end: () => hub.hear({ kind: 'leave', tab }) };
}

type OnChannel =
  | { to: 'holder'; message: FromTab | { kind: 'join'; tab: string } }
  | { to: 'tab'; tab: string; message: ToTab }
  | { to: 'all' }; // a holder took over

function byElection(tab: string, hear: (message: ToTab) => void, rejoin: () => void): Link {
  const channel = new BroadcastChannel(CHANNEL);
  let hub: Hub | null = null;
  let release: (() => void) | undefined;
  const join = () => {
    if (hub) hub.join(tab, hear);
    else channel.postMessage({ to: 'holder', message: { kind: 'join', tab } } satisfies OnChannel);
  };
  channel.onmessage = (event: MessageEvent<OnChannel>) => {
    const said = event.data;
    if (said.to === 'tab' && said.tab === tab) hear(said.message);
    if (said.to === 'all') {
      join();
      rejoin();
    }
    if (said.to === 'holder' && hub) {
      const message = said.message;
      if (message.kind !== 'join') hub.hear(message);
      else hub.join(message.tab, (told) => channel.postMessage({ to: 'tab', tab: message.tab, message: told } satisfies OnChannel));
    }
  };
  void navigator.locks.request(LOCK, () => {
    hub = new Hub((address) => new EventSource(address));
    join();
    rejoin();
    channel.postMessage({ to: 'all' } satisfies OnChannel);
    return new Promise<void>((resolve) => (release = resolve)); // held until the tab ends
  });
  join();
  return {
    send: (message) => {
      if (hub) hub.hear(message);
      else channel.postMessage({ to: 'holder', message } satisfies OnChannel);
    },
    end: () => {
      release?.();
      channel.close();
    },
  };
}
