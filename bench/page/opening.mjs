// The cost of opening the page: scripts, the first rows of a conversation, tabs.
import { median, pause, until } from './lab.mjs';

const VIEWPORT = { width: 1200, height: 800 };

// scripts counts the bytes of scripts that a first load of the page transfers over the
// network, including the feed's worker.
export async function scripts(lab, chrome, _rounds, say) {
  const context = await chrome.newContext({ viewport: VIEWPORT });
  const page = await context.newPage();
  const asked = [];
  page.on('requestfinished', (request) => request.resourceType() === 'script' && asked.push(request));
  await page.goto(lab.server.url);
  await page.getByText('What shall we talk about?').waitFor();
  await page.waitForLoadState('networkidle').catch(() => undefined); // the feed stays open
  let sum = 0;
  for (const request of asked) {
    const { responseBodySize } = await request.sizes();
    say(`  ${new URL(request.url()).pathname}: ${responseBodySize} bytes`);
    sum += responseBodySize;
  }
  await context.close();
  return [{ name: 'scripts of a first load of /, gzipped', value: sum / 1000, unit: ' KB', bound: 220 }];
}

// firstRows is the time from a tab's navigation to the frame with a transcript's first
// row.
async function firstRows(context, address) {
  const page = await context.newPage();
  await page.addInitScript(() => {
    const look = () => {
      if (document.querySelector('[data-transcript] article')) requestAnimationFrame(() => (globalThis.rowsAt = performance.now()));
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  await page.goto(address);
  await page.waitForFunction(() => globalThis.rowsAt);
  const at = await page.evaluate(() => globalThis.rowsAt);
  await page.close();
  return at;
}

const OPENINGS = 15; // of each session, in alternation

export async function opening(lab, chrome, rounds, say) {
  const sessions = {};
  const text = (n) => `Message ${n}. ${'A few more words that fill a line. '.repeat(n % 9)}`;
  for (const count of [100, 10_000]) {
    const { id } = await lab.ask('POST', '/v1/sessions', {});
    for (let n = 1; n <= count; n += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, i) => lab.ask('POST', `/v1/sessions/${id}/messages`, { role: 'user', respond: false, content: { text: text(n + i) } })));
    }
    sessions[count] = id;
  }
  const context = await chrome.newContext({ viewport: VIEWPORT });
  const took = { 100: [], 10000: [] };
  for (const count of [100, 10_000]) await firstRows(context, `${lab.server.url}/c/${sessions[count]}`); // fills the cache
  for (let n = 0; n < OPENINGS * rounds; n++) {
    for (const count of n % 2 ? [100, 10_000] : [10_000, 100]) took[count].push(await firstRows(context, `${lab.server.url}/c/${sessions[count]}`));
  }
  await context.close();
  say(`  100 messages: ${median(took[100]).toFixed(0)} ms, 10,000 messages: ${median(took[10000]).toFixed(0)} ms, medians of ${took[100].length}`);
  return [{ name: 'first rows of 10,000 messages, to those of 100', value: median(took[10000]) / median(took[100]), unit: '×', bound: 1.2 }];
}

const TABS = 12;

// tabs opens a number of tabs on a streaming conversation, and counts those that show its
// growing text, and the connections that the server sees.
export async function tabs(lab, chrome) {
  const { id } = await lab.ask('POST', '/v1/sessions', { model: 'sim/lorem-9000-20', message: { role: 'user', content: { text: 'Write' } } });
  const context = await chrome.newContext({ viewport: VIEWPORT });
  const pages = [];
  for (let n = 0; n < TABS; n++) {
    const page = await context.newPage();
    await page.goto(`${lab.server.url}/c/${id}`);
    pages.push(page);
  }
  const growing = 'article[aria-busy=true] .prose-chat';
  const lengths = () => Promise.all(pages.map((page) => page.evaluate((where) => document.querySelector(where)?.textContent.length ?? 0, growing)));
  await until(async () => (await lengths()).every((length) => length > 0), 'all tabs show the answer');
  const before = await lengths();
  await pause(1_000);
  const live = (await lengths()).filter((length, n) => length > before[n]).length;
  const metrics = await (await fetch(`${lab.server.url}/metrics`)).text();
  const connections = Number(/^parley_watchers(?:\{[^}]*feed[^}]*\})? (\d+)/m.exec(metrics)?.[1]);
  await lab.ask('POST', `/v1/sessions/${id}/cancel`, {});
  await context.close();
  return [
    { name: `of ${TABS} tabs live`, value: live, unit: '', bound: TABS, least: true },
    { name: 'connections for them', value: connections, unit: '', bound: 1 },
  ];
}
