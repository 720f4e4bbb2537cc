/// <reference lib="webworker" />
import { Hub } from './hub';
import type { FromTab, ToTab } from './protocol';

// One EventSource for all tabs: a browser opens at most six connections to a server,
// and one per tab would use them up.
const hub = new Hub((address) => new EventSource(address));

(self as unknown as SharedWorkerGlobalScope).onconnect = (event) => {
  const port = event.ports[0]!;
  port.onmessage = (message: MessageEvent<FromTab | { kind: 'join'; tab: string }>) => {
    if (message.data.kind === 'join') hub.join(message.data.tab, (told: ToTab) => port.postMessage(told));
    else hub.hear(message.data);
  };
};
