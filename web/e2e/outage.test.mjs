// The server is away: nothing written is lost, no page breaks, and what it cost is said.
import assert from 'node:assert/strict';
import { accessible, once, right, until } from './harness.mjs';
import { context, server, stage, tab } from './stage.mjs';

stage();

const LONG = 'sim/lorem-9000-20';
const composer = '[data-composer]';
const growing = 'article[aria-busy=true] .prose-chat';
const fetched = (page, name) => until(() => page.evaluate((part) => performance.getEntriesByType('resource').some((one) => one.name.includes(part)), `/assets/${name}`), `${name} is fetched ahead`);

once('a page is opened while the server is away, and a message written there is sent from elsewhere', async () => {
  await server.settled((await server.session('Small')).id); // usage to be shown, also before the broken turn is settled
  const session = await server.session('Write', { model: LONG });
  const page = await tab(`/c/${session.id}`);
  await page.locator(growing).waitFor();
  for (const name of ['audit.js', 'inspect.js', 'usage.js', 'drawer.js', 'highlight.js', 'chart.js']) await fetched(page, name);
  await server.kill();
  await page.getByText('Reconnecting').waitFor();
  const [note, bar] = [await page.getByText('Reconnecting').boundingBox(), await page.locator('main header').boundingBox()];
  assert.ok(note.y >= bar.y + bar.height, 'the note lies over the title');
  await page.fill(composer, 'written while it was away');
  await page.press(composer, 'Enter');
  await page.getByText('Your message is kept here').waitFor();
  await page.getByRole('link', { name: 'Usage' }).click();
  await page.getByRole('heading', { name: 'Usage' }).waitFor();
  await page.getByText('A message waits for the server').waitFor();
  await server.begin();
  await page.getByRole('region', { name: 'Usage by models' }).waitFor(); // asked for again by itself
  await page.getByText('A message waits for the server').waitFor({ state: 'detached' });
  await until(async () => (await server.ask('GET', `/v1/sessions/${session.id}/messages?status=queued`)).data.some((one) => one.content.text === 'written while it was away'), 'it is sent');
  await page.goBack();
  await page.locator(composer).waitFor();
  assert.equal(await page.inputValue(composer), '');
  const broken = (await server.ask('GET', `/v1/sessions/${session.id}/messages`)).data.find((one) => one.error?.class === 'interrupted');
  await page.goto(`${server.url}/c/${session.id}?at=${broken.id}`);
  await page.locator('[data-lost]').getByText('It counts as an estimate').waitFor(); // the answer that the kill broke off
  await accessible(page, 'an answer that was broken off');
  await server.ask('POST', `/v1/sessions/${session.id}/cancel?queued=true`, {});
  right(page);
});

once('code that cannot be fetched is asked for again, and never ends in the browser’s error page', async () => {
  const page = await tab('/settings/appearance');
  await page.getByRole('radio', { name: 'Dark' }).waitFor();
  await page.unrouteAll();
  await context.route('**/assets/agentlist.js', (route) => route.abort());
  const again = await context.newPage();
  await again.goto(`${server.url}/new`);
  await again.locator(composer).waitFor();
  await again.getByRole('link', { name: 'Agents' }).click();
  await again.getByText('Loading the page').waitFor();
  await context.unroute('**/assets/agentlist.js');
  await again.getByRole('heading', { name: 'Agents' }).waitFor();
});

once('Escape holds what was queued, says so, and sends it when asked', async () => {
  const session = await server.session('Write', { model: LONG });
  const page = await tab(`/c/${session.id}`);
  await page.locator(growing).waitFor();
  for (const text of ['hold me', 'drop me']) {
    await page.fill(composer, text);
    await page.press(composer, 'Enter');
    await until(async () => (await page.inputValue(composer)) === '');
  }
  await page.getByLabel('Queued message', { exact: true }).nth(1).waitFor();
  await page.press(composer, 'Escape');
  const held = page.locator('[data-held]');
  await held.getByText('is held. Nothing of it is sent').waitFor();
  await page.locator('[data-stopped]').waitFor();
  assert.equal((await server.ask('GET', `/v1/sessions/${session.id}`)).status, 'cancelled', 'nothing begins by itself');
  await page.reload();
  await held.getByText('drop me').waitFor();
  await page.getByRole('heading', { level: 1 }).waitFor();
  await accessible(page, 'held messages');
  await held.getByRole('button', { name: 'Discard the held message' }).last().click();
  await held.getByRole('button', { name: 'Send' }).click();
  await held.waitFor({ state: 'detached' });
  await page.locator('article', { hasText: 'hold me' }).waitFor();
  assert.equal((await server.ask('GET', `/v1/sessions/${session.id}/messages`)).data.filter((one) => one.role === 'user').length, 2);
  await server.ask('POST', `/v1/sessions/${session.id}/cancel`, {});
  right(page);
});

once('thinking and searching are offered where the model can, and asked for', async () => {
  const page = await tab('/new?model=sim/echo');
  await page.locator(composer).waitFor();
  await page.getByText('simulator').first().waitFor();
  assert.equal(await page.getByRole('button', { name: 'Think first', exact: true }).count(), 0, 'sim/echo does not reason');
  const agent = await server.ask('POST', '/v1/agents', { name: 'Searching', model: 'sim/reason', tools: [{ name: 'web_search', description: 'Searches.', parameters: { type: 'object', properties: {} } }] });
  await page.goto(`${server.url}/new?agent=${agent.id}&model=sim/reason`);
  await page.getByRole('button', { name: 'Think first', exact: true }).click();
  assert.equal(await page.getByRole('button', { name: 'Think first', exact: true }).getAttribute('aria-pressed'), 'true');
  await page.getByRole('button', { name: 'Search the web' }).click();
  await page.getByRole('button', { name: 'Search the web' }).click();
  await page.fill(composer, 'Why?');
  await page.press(composer, 'Enter');
  await page.waitForURL(/\/c\//);
  const id = new URL(page.url()).pathname.split('/').pop();
  const [asked] = (await server.ask('GET', `/v1/sessions/${id}/messages`)).data;
  assert.deepEqual([asked.content.think, asked.content.search], [true, undefined]);
  await page.getByRole('button', { name: 'Think first', exact: true }).waitFor();
  right(page);
});
