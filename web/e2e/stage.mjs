// One server, one browser and one profile for the scenarios of a file; each file has its own process.
import { after, afterEach, before } from 'node:test';
import { browser, open, Server } from './harness.mjs';

const SIZE = { width: 1200, height: 800 };

// What tab can set on a tab; other options, such as a touch screen, take a profile of their own.
const MEDIA = ['colorScheme', 'forcedColors', 'reducedMotion'];

export let server, chrome, context;
let common, kept, own, storage;

// stage starts them before the first scenario, and ends them after the last. The profile has these options.
export function stage(options = {}) {
  before(async () => {
    [server, chrome] = await Promise.all([Server.start(), browser()]);
    context = common = await chrome.newContext({ viewport: SIZE, ...options });
    // A tab that stays open keeps the browser's process for this server, with the page's code compiled: it takes half
    // of what a tab costs. This one is not the page, so it has no connection.
    kept = await common.newPage();
    await kept.goto(`${server.url}/healthz`);
    storage = await common.newCDPSession(kept);
  });
  after(async () => {
    await chrome?.close();
    await server?.end();
  });
  afterEach(async () => {
    await own?.close();
    own = undefined;
    if (!common) return; // it did not start
    context = common;
    await Promise.all(common.pages().filter((page) => page !== kept).map((page) => page.close()));
    await Promise.all([common.setOffline(false), common.unrouteAll()]);
    // The next scenario begins as in a browser that has never been here.
    await storage.send('Storage.clearDataForOrigin', { origin: server.url, storageTypes: 'all' });
  });
}

// tab opens the first tab of a scenario, as in a browser that has never been here.
export async function tab(address, options = {}) {
  const { viewport, ...rest } = options;
  if (Object.keys(rest).some((name) => !MEDIA.includes(name))) {
    context = own = await chrome.newContext({ viewport: SIZE, ...options });
    return open(context, server, address);
  }
  return open(common, server, address, async (page) => {
    if (viewport) await page.setViewportSize(viewport);
    await page.emulateMedia(rest);
  });
}
