// A newcomer's first fifteen minutes with Parley, on an empty data directory.
import assert from 'node:assert/strict';
import { browser, once, open, right, Server } from './harness.mjs';

// SQLite only: the scenarios on PostgreSQL share one database, which is not empty.
once('a newcomer starts, approves a tool, stops a turn, forks, finds it again, and sees what it cost', async (t) => {
  const [server, chrome] = await Promise.all([Server.start(), browser()]); // started only if this test runs
  t.after(async () => {
    await chrome.close();
    await server.end();
  });
  const page = await open(await chrome.newContext({ viewport: { width: 1200, height: 800 } }), server, '/');
  const button = (name) => page.getByRole('button', { name });
  await page.getByText('What shall we talk about?').waitFor();
  await page.getByText('Conversations appear here.').waitFor();

  // A first conversation: the agent wants a tool, and asks.
  await button(/use a tool, and approve it/).click();
  await page.waitForURL(/\/c\//);
  await button('Approve once').click();
  await page.getByText('Simulated: the tool current_time answered').waitFor();
  await page.getByRole('region', { name: 'Tools: current_time' }).getByLabel('done').waitFor();
  const first = page.url();

  // A second one, stopped while it writes.
  await page.getByRole('link', { name: 'New conversation' }).click();
  await button(/long answer, and stop it/).click();
  await page.locator('article[aria-busy=true] .prose-chat').waitFor();
  await button('Stop').click();
  await page.getByText('stopped', { exact: true }).waitFor();
  await page.locator('[data-session-list] a').nth(1).waitFor();

  // Back to the first, and a fork from there: the original stays.
  await page.locator('[data-session-list] a', { hasText: 'What time is it?' }).click();
  await page.waitForURL(first);
  await page.locator('article', { hasText: 'Simulated: the tool' }).hover();
  await page.locator('article', { hasText: 'Simulated: the tool' }).getByRole('button', { name: 'Fork from here' }).click();
  await page.waitForURL((address) => address.href !== first);
  await page.getByText('Simulated: the tool current_time answered').waitFor();
  await page.getByRole('link', { name: /Fork What time is it\?/ }).waitFor(); // the list distinguishes it from the original
  await page.fill('[data-composer]', 'And in Samarkand?');
  await page.press('[data-composer]', 'Enter');
  await page.locator('article[aria-label^="Message"]', { hasText: 'And in Samarkand?' }).waitFor();
  await button('Approve once').click();
  await page.locator('article', { hasText: 'Simulated: the tool' }).nth(1).waitFor();
  const fork = new URL(page.url()).pathname;

  // Found again by its text.
  await page.getByRole('link', { name: 'Search' }).click();
  await page.getByRole('searchbox', { name: 'Search for' }).fill('samark');
  await page.locator('[data-hit] mark', { hasText: 'Samarkand' }).first().waitFor();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await page.waitForURL((address) => address.pathname === fork);
  await page.locator('.sought', { hasText: 'And in Samarkand?' }).waitFor();

  // Its cost: nothing, with the simulator, but tokens are counted.
  await page.getByRole('link', { name: 'Usage' }).click();
  const figure = (name) => page.locator('dl > div', { hasText: name }).locator('dd').first();
  await page.getByRole('cell', { name: 'sim/tool' }).waitFor();
  assert.equal(await figure('Cost').innerText(), '$0');
  assert.match(await figure('Tokens out').innerText(), /[1-9]/);
  right(page);
});
