// One server and one browser for the scenarios of a file, which has a process of its own.
import { after, afterEach, before } from 'node:test';
import { browser, open, Server } from './harness.mjs';

export let server, chrome, context;

// stage has them begin before the first scenario, and end behind the last.
export function stage() {
  before(async () => {
    [server, chrome] = await Promise.all([Server.start(), browser()]);
  });
  after(async () => {
    await chrome?.close();
    await server?.end();
  });
  afterEach(() => context?.close());
}

// tab opens a tab in a context of its own, as another person would have it.
export async function tab(address, options = {}) {
  context = await chrome.newContext({ viewport: { width: 1200, height: 800 }, ...options });
  return open(context, server, address);
}
