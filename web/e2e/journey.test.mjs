// A newcomer's first fifteen minutes with Parley, on an empty data directory.
import assert from 'node:assert/strict';
import { browser, once, open, right, Server, until } from './harness.mjs';

// arrive starts a server and a browser for one test: started by the file, they would run even if its tests are skipped.
async function arrive(t, ...flags) {
  const [server, chrome] = await Promise.all([Server.start(...flags), browser()]);
  t.after(async () => {
    await chrome.close();
    await server.end();
  });
  return { server, context: await chrome.newContext({ viewport: { width: 1200, height: 800 }, timezoneId: 'UTC' }) };
}

// SQLite only: the scenarios on PostgreSQL share one database, which is not empty.
once('a newcomer starts, approves a tool, stops a turn, forks, finds it again, and sees what it cost', async (t) => {
  const { server, context } = await arrive(t);
  const page = await open(context, server, '/');
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

// The text of an element on one line.
const line = async (element) => (await element.innerText()).replace(/\s+/g, ' ').trim();

// follow clicks a link to a message, which must come into view, highlighted, and returns what it says.
async function follow(page, link, id) {
  await link.click();
  const message = page.locator(`.sought [data-message="${id}"]`);
  await message.waitFor();
  await until(() => message.evaluate((element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  }), 'the message is in view');
  return line(message);
}

once('a newcomer starts the example team, goes away while the server dies twice, and follows every claim of its briefings', async (t) => {
  const { server, context } = await arrive(t, '--lease', '1s');
  const list = async (address) => (await server.ask('GET', address)).data;
  const page = await open(context, server, '/');
  await page.getByText('Conversations appear here.').waitFor();
  await page.getByRole('button', { name: /Watch a team work/ }).click();
  await page.waitForURL(/\/team\/example-editor$/);
  const lead = page.locator('[data-member=example-editor]');
  const asked = page.locator('[data-delegation]', { hasText: 'Critic to Editor' });
  await asked.getByText('Answered').waitFor(); // by itself
  await asked.getByRole('button').click();
  await asked.getByRole('link', { name: 'The answer' }).waitFor();
  const row = page.locator('[data-schedule]', { hasText: 'Morning briefing' });
  await row.getByText('0 8 * * 1-5 (UTC)').waitFor();
  const next = (await line(row.getByText(/^Next /))).replace('Next ', '');
  assert.match(next, /8:00/);
  await lead.getByText(`Runs next ${next}`).waitFor();
  right(page);

  // The page is closed, the morning comes early, and the server is killed twice.
  const [schedule] = await list('/v1/schedules');
  await server.ask('PATCH', `/v1/schedules/${schedule.id}`, { cron: null, time_zone: '', at: new Date(Date.now() + 1000).toISOString() });
  await page.close();
  await server.kill();
  await server.begin();
  await until(async () => (await list('/v1/delegations?kind=task')).length === 8, 'the work of the morning is handed over');
  await server.kill();
  await server.begin();
  let items;
  await until(async () => (items = await list('/v1/inbox')).length === 3, 'two briefings and a question have come');

  const again = await open(context, server, '/new');
  await again.getByRole('button', { name: /Watch a team work/ }).click(); // finds the team, and has it do nothing more
  await again.waitForURL(/\/team\/example-editor$/);
  assert.deepEqual([(await server.ask('GET', '/v1/teams/example-editor')).members.length, (await list('/v1/delegations?kind=task')).length], [5, 8]);
  await again.locator('[data-schedule]').getByRole('button', { name: 'History' }).click();
  const [run] = await list(`/v1/schedules/${schedule.id}/runs`);
  assert.match(await follow(again, again.locator('[data-schedule] ol').getByRole('link'), run.message_id), /Prepare the morning briefing/);

  await again.getByRole('link', { name: 'Inbox 3' }).click();
  await until(async () => (await again.title()) === '(3) Inbox – Parley', 'the tab counts them');
  const briefings = items.filter((one) => one.type === 'briefing');
  assert.deepEqual(briefings.map((one) => one.title).sort(), ['Prepare the first briefing', 'Prepare the morning briefing']);
  for (const { id, citations, source_session_id: work, source_message_id: call } of briefings) {
    const item = again.locator(`[data-item="${id}"]`);
    await item.getByRole('button', { expanded: false }).click();
    const claims = item.locator('.prose-chat li');
    await claims.nth(3).waitFor();
    assert.deepEqual([await claims.count(), await item.locator('[data-source]').count(), citations.length], [4, 4, 4]);
    for (const [index, { message_id: source }] of citations.entries()) {
      const said = (await line(claims.nth(index))).replace(/^[a-z-]+: | \[\d+\] ✓$/g, '');
      const text = await follow(again, claims.nth(index).getByRole('link'), source);
      assert.ok(text.includes(said), `it is claimed: ${said}\nthe source says: ${text}`);
      await again.goBack();
    }
    await item.getByRole('link', { name: 'See the work behind it' }).click();
    await again.waitForURL(new RegExp(`/c/${work}\\?at=${call}$`));
    await again.locator('li.sought', { hasText: 'create_inbox_item' }).waitFor();
    await again.goBack();
  }
  await again.getByRole('link', { name: 'Inbox 1' }).waitFor(); // the question
  right(again);
});
