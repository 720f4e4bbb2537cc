// One server and one browser for the scenarios of a file; each file has its own process.
import { after, afterEach, before } from 'node:test';
import { browser, open, Server } from './harness.mjs';

export let server, chrome, context;

// stage starts them before the first scenario, and ends them after the last.
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

// tab opens a tab in a context of its own, like another person's browser.
export async function tab(address, options = {}) {
  context = await chrome.newContext({ viewport: { width: 1200, height: 800 }, ...options });
  return open(context, server, address);
}
