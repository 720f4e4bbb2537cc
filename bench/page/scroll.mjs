// The visible text stays in place in every frame, while an answer grows below it and
// while older messages are loaded above it.
import { until } from './lab.mjs';

const VIEWPORT = { width: 1200, height: 800 };
const STREAMED_MS = 5_000;

// watched starts to record, in every frame, how far the message in the middle of the view
// has moved; moved returns the largest distance, in pixels.
async function watched(page) {
  return page.evaluate(() => {
    const view = document.querySelector('[data-transcript]').getBoundingClientRect();
    const anchor = [...document.querySelectorAll('[data-transcript] article')].find((one) => one.getBoundingClientRect().top > view.top + view.height / 3);
    const top = anchor.getBoundingClientRect().top;
    globalThis.farthest = 0;
    globalThis.framesWatched = 0;
    const look = () => {
      const now = [...document.querySelectorAll('[data-message]')].find((one) => one.dataset.message === anchor.dataset.message);
      globalThis.farthest = Math.max(globalThis.farthest, now ? Math.abs(now.getBoundingClientRect().top - top) : Infinity);
      globalThis.framesWatched++;
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
}
const moved = (page) => page.evaluate(() => ({ farthest: globalThis.farthest, frames: globalThis.framesWatched }));

export async function scroll(lab, chrome, rounds, say) {
  const context = await chrome.newContext({ viewport: VIEWPORT });
  const streaming = [], prepending = [];
  for (let round = 0; round < rounds; round++) {
    const id = await lab.scripted(120);
    const page = await context.newPage();
    // Pages of older messages are held back until the wheel rests.
    let release = () => undefined;
    let asked = false;
    await page.route(/\/messages\?.*cursor=/, async (route) => {
      asked = true;
      await new Promise((resolve) => (release = resolve));
      await route.continue();
    });
    await page.goto(`${lab.server.url}/c/${id}`);
    await page.getByText('Line 20').waitFor();
    await lab.go(id);
    await page.locator('article[aria-busy=true] .prose-chat').waitFor();
    await page.mouse.move(600, 300);
    await page.mouse.wheel(0, -400);
    await page.getByText('Jump to latest').waitFor();
    await page.waitForTimeout(500);
    await watched(page);
    const height = () => page.evaluate(() => document.querySelector('[data-transcript]').scrollHeight);
    const before = await height();
    await page.waitForTimeout(STREAMED_MS);
    if ((await height()) <= before) throw new Error('the answer did not grow');
    const streamed = await moved(page);
    streaming.push(streamed.farthest);
    await page.reload();
    await page.locator('article').first().waitFor();
    // Up, notch by notch, until the page requests older messages.
    asked = false;
    await page.mouse.move(600, 300);
    await until(async () => {
      await page.mouse.wheel(0, -400);
      return asked;
    }, 'older messages are asked for');
    await page.waitForTimeout(500);
    await watched(page);
    const tall = await height();
    release();
    await until(async () => (await height()) > tall + 1000, 'older messages came in');
    await page.waitForTimeout(1_000);
    const prepended = await moved(page);
    prepending.push(prepended.farthest);
    say(`  ${streamed.frames} frames beside a growing answer: ${streamed.farthest} px; ${prepended.frames} frames around older messages and it: ${prepended.farthest} px`);
    await lab.ask('POST', `/v1/sessions/${id}/cancel`, {});
    await page.close();
  }
  await context.close();
  return [
    { name: 'what is read moves while an answer streams', value: Math.max(...streaming), unit: ' px', bound: 0 },
    { name: 'what is read moves while older messages come in', value: Math.max(...prepending), unit: ' px', bound: 0 },
  ];
}
