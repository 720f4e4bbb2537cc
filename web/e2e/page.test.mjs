import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, lastAnswer, once, open, right, sha256, until } from './harness.mjs';
import { context, server, stage, tab } from './stage.mjs';

stage();

const composer = '[data-composer]';
const growing = 'article[aria-busy=true] .prose-chat'; // a streaming answer
const LONG = 'sim/lorem-9000-20'; // streams for three minutes, unless it is stopped

const flat = (text) => text.replace(/\s+/g, ' ').trim();

test('a newcomer starts a conversation, sees the simulator answer, and finds it in the list', async () => {
  const page = await tab('/');
  await page.getByText('What shall we talk about?').waitFor();
  await page.getByText('Answers are made up.').waitFor();
  await page.fill(composer, 'Hello **there**');
  await page.press(composer, 'Enter');
  await page.waitForURL(/\/c\//);
  await page.locator('.prose-chat strong', { hasText: 'there' }).waitFor();
  assert.equal(await page.inputValue(composer), '');
  await page.locator('[data-session-list] a', { hasText: 'Hello' }).waitFor();
  await page.locator('main header').getByText('simulator').waitFor();
  right(page);
});

once('a tool waits for approval, runs, and shows its result', async () => {
  const agent = await server.ask('POST', '/v1/agents', { name: 'Careful', tools: ['current_time'], grants: [{ tool: 'current_time', effect: 'ask' }] });
  const session = await server.session('What time is it?', { agent_id: agent.id, model: 'sim/tool' });
  const page = await tab(`/c/${session.id}`);
  await page.getByText('May current_time run with exactly these arguments?').waitFor();
  await page.getByRole('link', { name: 'Inbox 1' }).waitFor();
  await page.getByRole('button', { name: 'Approve once' }).click();
  await page.getByText('Simulated: the tool current_time answered').waitFor();
  await page.getByRole('region', { name: 'Tools: current_time' }).getByLabel('done').waitFor();
  await until(async () => (await page.getByRole('link', { name: /^Inbox/ }).innerText()) === 'Inbox');
  right(page);
});

once('a reload in the middle of an answer shows the text that the server has', async () => {
  const session = await server.session('Write', { model: LONG });
  const page = await tab(`/c/${session.id}`);
  await page.locator(growing).waitFor();
  await page.reload();
  await page.locator(growing).waitFor();
  const text = await server.stopped(session.id);
  await until(async () => sha256(flat(await lastAnswer(page))) === sha256(flat(text)), 'the text is the server’s');
  right(page);
});

once('two tabs show the same, and twelve use one connection', async () => {
  const session = await server.session('Write', { model: LONG });
  const first = await tab(`/c/${session.id}`);
  const tabs = [first];
  for (let i = 1; i < 12; i++) tabs.push(await open(context, server, i === 1 ? `/c/${session.id}` : '/inbox'));
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  const feeds = Number(/^parley_watchers(?:\{[^}]*feed[^}]*\})? (\d+)/m.exec(metrics)?.[1]);
  assert.equal(feeds, 1, `the server counts ${feeds} connections`);
  const text = flat(await server.stopped(session.id));
  for (const page of tabs.slice(0, 2)) await until(async () => flat(await lastAnswer(page)) === text, 'both tabs have the whole text');
  for (const page of tabs) right(page);
});

test('a server that is killed in the middle of an answer and restarted loses nothing', async () => {
  const session = await server.session('Write', { model: LONG });
  const page = await tab(`/c/${session.id}`);
  await page.locator(growing).waitFor();
  await server.kill();
  await page.getByText('Reconnecting').waitFor();
  await page.fill(composer, 'typed while it was away');
  await page.press(composer, 'Enter');
  await page.getByText('The server does not respond.').waitFor();
  assert.equal(await page.inputValue(composer), 'typed while it was away');
  await server.begin();
  await page.getByText('Reconnecting').waitFor({ state: 'detached' });
  await page.press(composer, 'Enter');
  await until(async () => (await page.inputValue(composer)) === '', 'the message was taken');
  assert.equal((await server.ask('GET', `/v1/sessions/${session.id}/messages?status=queued`)).data.length, 1);
  await page.locator(growing).waitFor();
  const text = flat(await server.stopped(session.id));
  await until(async () => flat(await lastAnswer(page)) === text, 'the text is the server’s');
  right(page);
});

once('scrolling up unpins immediately; rows that arrive above or below move nothing', async () => {
  const session = await server.ask('POST', '/v1/sessions', { model: LONG });
  for (let n = 1; n <= 140; n++) {
    await server.ask('POST', `/v1/sessions/${session.id}/messages`, { role: n % 2 ? 'user' : 'assistant', content: { text: `Message ${n}\n\n${'words and more '.repeat(n % 17)}` }, ...(n % 2 ? { respond: false } : {}) });
  }
  const page = await tab(`/c/${session.id}`);
  await page.getByText('Message 140').waitFor();
  await page.fill(composer, 'Go on');
  await page.press(composer, 'Enter');
  await page.locator(growing).waitFor();
  await page.mouse.move(600, 300);
  await page.mouse.wheel(0, -300); // the answer's row stays drawn
  await page.getByText('Jump to latest').waitFor();
  const place = (name) => page.evaluate((text) => [...document.querySelectorAll('article')].find((one) => one.innerText.startsWith(text))?.getBoundingClientRect().top, name);
  const seen = await page.evaluate(() => [...document.querySelectorAll('article')].map((one) => ({ name: one.innerText.split('\n')[0], top: one.getBoundingClientRect().top })).find((one) => one.top > 60 && one.name.startsWith('Message')).name);
  let before_ = await place(seen);
  const length = () => page.evaluate(() => document.querySelector('[data-transcript]').scrollHeight);
  const long = await length();
  await until(async () => (await length()) > long, 'the answer grows');
  await server.stopped(session.id);
  assert.equal(await place(seen), before_, 'the answer below moved what is read');
  // Older messages arrive above.
  await page.evaluate(() => (document.querySelector('[data-transcript]').scrollTop = 700));
  await until(async () => (await page.evaluate(() => document.querySelector('[data-transcript]').scrollTop)) > 3000, 'older messages were added above');
  const scroller = page.locator('[data-transcript]');
  const anchor = await page.evaluate(() => [...document.querySelectorAll('article')].map((one) => ({ name: one.innerText.split('\n')[0], top: one.getBoundingClientRect().top })).find((one) => one.top > 100)?.name);
  before_ = await place(anchor);
  await page.waitForTimeout(300);
  assert.equal(await place(anchor), before_);
  await scroller.focus();
  await page.keyboard.press('End');
  await page.getByText('Jump to latest').waitFor({ state: 'detached' });
  right(page);
});

const PAYLOADS = [
  '<script>window.owned = 1</script>',
  '<img src="https://elsewhere.example/x.png" onerror="window.owned = 1">',
  '![x](https://elsewhere.example/y.png)',
  '[click](javascript:window.owned=1)',
  '<svg/onload=window.owned=1>',
  '<iframe src="https://elsewhere.example"></iframe>',
  '<link rel=stylesheet href=https://elsewhere.example/z.css>',
  '<a href="x" onmouseover="window.owned=1">x</a>',
  '```html\n<script>window.owned = 1</script>\n```',
];

once('text from a model runs nothing and fetches nothing', async () => {
  const session = await server.session(PAYLOADS.join('\n\n'));
  await server.settled(session.id);
  const page = await tab(`/c/${session.id}`);
  await page.locator('article[aria-label^="Answer"] .prose-chat pre').waitFor();
  assert.equal(await page.evaluate(() => window.owned), undefined);
  assert.equal(await page.locator('article script, article iframe, article img, article svg:not(.lucide), article link').count(), 0);
  right(page);
});

once('a draft survives a reload, and is gone once it was sent', async () => {
  const page = await tab('/new');
  await page.fill(composer, 'half a thought');
  await page.reload();
  await until(async () => (await page.inputValue(composer)) === 'half a thought');
  await page.press(composer, 'Enter');
  await page.waitForURL(/\/c\//);
  await page.goto(`${server.url}/new`);
  await page.getByText('What shall we talk about?').waitFor();
  assert.equal(await page.inputValue(composer), '');
});

once('queued messages can be changed and removed, and a turn stopped', async () => {
  const session = await server.session('Write', { model: LONG });
  const page = await tab(`/c/${session.id}`);
  await page.locator(growing).waitFor();
  await page.fill(composer, 'and then');
  await page.press(composer, 'Enter');
  const queued = page.getByLabel('Queued message', { exact: true });
  await queued.waitFor();
  await queued.fill('and then that');
  await queued.press('Enter');
  await until(async () => (await server.ask('GET', `/v1/sessions/${session.id}/messages?status=queued`)).data[0]?.content.text === 'and then that');
  await page.getByRole('button', { name: 'Remove from the queue' }).click();
  await queued.waitFor({ state: 'detached' });
  await page.fill(composer, 'at once');
  await page.press(composer, 'Enter');
  await page.getByRole('button', { name: 'Send now, to the running turn' }).click();
  await page.getByText('at the next step').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('stopped', { exact: true }).waitFor();
  right(page);
});

once('a message is edited in a branch, and the original stays', async () => {
  const session = await server.session('First words');
  await server.settled(session.id);
  const page = await tab(`/c/${session.id}`);
  await page.locator('article', { hasText: 'First words' }).first().hover();
  await page.getByRole('button', { name: 'Edit, in a new branch' }).click();
  await page.getByLabel('Edited message').fill('Other words');
  await page.getByRole('button', { name: 'Ask', exact: true }).click();
  await page.waitForURL((address) => !address.pathname.endsWith(session.id));
  await page.locator('.prose-chat', { hasText: 'Other words' }).waitFor();
  assert.equal(await page.locator('article', { hasText: 'First words' }).count(), 0);
  await page.goto(`${server.url}/c/${session.id}`);
  await page.locator('.prose-chat', { hasText: 'First words' }).waitFor();
  await page.locator('article').first().hover();
  await page.getByRole('button', { name: 'Branches' }).click();
  await page.getByRole('menuitem').first().click();
  await page.locator('.prose-chat', { hasText: 'Other words' }).waitFor();
  right(page);
});

once('a message is pinned, set aside, and the context cleared', async () => {
  const session = await server.session('Keep this');
  await server.settled(session.id);
  const page = await tab(`/c/${session.id}`);
  const marks = async () => (await server.ask('GET', `/v1/sessions/${session.id}/messages`)).data[0].marks;
  await page.locator('article').first().hover();
  await page.getByRole('button', { name: 'Pin to the context' }).first().click();
  await page.getByRole('button', { name: 'Unpin from the context' }).waitFor();
  assert.equal((await marks()).pinned, true);
  await page.locator('article').first().getByRole('button', { name: /Set aside/ }).click();
  await page.getByRole('button', { name: 'Show to the model again' }).waitFor();
  assert.equal((await marks()).set_aside, true);
  await page.getByRole('button', { name: 'Conversation menu' }).click();
  await page.getByRole('menuitem', { name: 'Clear context' }).click();
  await until(async () => (await server.ask('GET', `/v1/sessions/${session.id}`)).context.messages === 0);
  right(page);
});

once('the inspector shows each call with its exact request', async () => {
  const session = await server.session('What time is it?', { model: 'sim/tool' });
  await server.settled(session.id);
  const page = await tab(`/c/${session.id}/inspect`);
  await page.locator('li button', { hasText: 'model call' }).first().click();
  await page.getByText('rebuilt exactly').waitFor();
  const named = page.locator('[data-rows] li button', { hasText: 'current_time' }); // the answers that mention it, and the call
  await named.getByText('calls current_time').waitFor();
  await page.getByRole('button', { name: /^Assistant/ }).click();
  await until(async () => (await named.count()) === 1, 'answers are hidden');
  right(page);
});

once('a session of ten thousand messages opens with few rows', async () => {
  const entries = Array.from({ length: 10_000 }, (_, n) => ({ role: 'user', content: `Number ${n + 1}`, timestamp: '2025-01-02T10:00:00Z' }));
  const { sessions } = await server.ask('POST', '/v1/imports', { name: 'chat.json', text: JSON.stringify({ entries, featureId: 'ten-thousand' }) });
  const page = await tab(`/c/${sessions[0].session_id}`);
  await page.locator('article').first().waitFor();
  const rows = await page.locator('article').count();
  assert.ok(rows > 3 && rows < 60, `${rows} rows are in the page`);
  right(page);
});

once('axe finds no problem, in light and dark colours', async () => {
  const session = await server.session('What time is it? **Bold** `code`', { model: 'sim/tool' });
  await server.settled(session.id);
  const agent = (await server.ask('GET', '/v1/agents')).data[0];
  const call = (await server.ask('GET', `/v1/sessions/${session.id}/calls`)).data[0];
  const page = await tab('/new', { colorScheme: 'light' });
  for (const address of ['/new', `/c/${session.id}?panel=info`, `/c/${session.id}?panel=context`, `/c/${session.id}?panel=trace`, `/c/${session.id}?panel=outline`, `/c/${session.id}?panel=tree`, `/c/${session.id}?panel=lineage`, `/c/${session.id}/inspect`, `/c/${session.id}/inspect?only=calls,events&row=call-${call.id}`, '/search', '/search?q=time', '/inbox', '/team', '/team/nobody', '/agents', `/agents/${agent.id}`, '/projects', '/usage', '/audit', '/settings/models', '/settings/providers', '/settings/keys', '/settings/import', '/settings/appearance', '/settings/shortcuts', '/nowhere-at-all']) {
    const before = await page.evaluate((to) => {
      const shown = document.body.innerText;
      history.pushState(null, '', to); // as by a link: to load each address would take longer than axe
      dispatchEvent(new PopStateEvent('popstate'));
      return shown;
    }, address);
    await until(async () => address === '/new' || (await page.evaluate(() => document.body.innerText)) !== before, `${address} is shown`);
    await page.locator('main').waitFor();
    await until(async () => (await page.locator('[role=status]', { hasText: 'Loading' }).count()) === 0, `${address} has loaded`);
    await accessible(page, address);
    await page.emulateMedia({ colorScheme: 'dark' });
    await accessible(page, `${address}, dark`, ['color-contrast']); // what is no colour is the same
    await page.emulateMedia({ colorScheme: 'light' });
  }
  right(page);
});

once('on a phone the list covers the conversation and can be closed', async () => {
  const session = await server.session('Small');
  await server.settled(session.id);
  const page = await tab(`/c/${session.id}`, { viewport: { width: 390, height: 780 }, hasTouch: true });
  await page.locator('article', { hasText: 'Small' }).first().waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390, 'the page is wider than the phone');
  await page.getByRole('button', { name: 'Show conversations' }).click();
  await page.locator('[data-session-list] a').first().click();
  await until(async () => !(await page.locator('[data-session-list]').isVisible()));
  right(page);
});

once('older files are imported after a look at what would happen', async () => {
  const page = await tab('/settings/import');
  const feature = `signup-${Date.now()}-${Math.random()}`; // another one on each database
  const chat = { entries: [{ role: 'user', content: `Plan ${feature}`, timestamp: '2025-01-02T10:00:00Z' }], featureId: feature };
  const files = [
    { name: 'chat.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(chat)) },
    { name: 'bad.json', mimeType: 'application/json', buffer: Buffer.from('{"entries":[{"role":"root"}]}') },
  ];
  const expected = (response) => response.url().endsWith('/v1/imports');
  await page.setInputFiles('input[type=file]', files);
  const table = page.getByRole('region', { name: 'What the import does' });
  await table.getByText('is imported', { exact: true }).waitFor();
  await table.getByText('/entries/0/role').waitFor();
  const tops = await table.locator('tbody tr').first().locator('td').evaluateAll((cells) => cells.map((cell) => getComputedStyle(cell).paddingTop));
  assert.equal(new Set(tops).size, 1, `a row’s texts are at one height: ${tops}`);
  const imported = async () => (await server.ask('GET', '/v1/sessions?type=pm-feature')).data.filter((session) => session.feature === feature);
  assert.equal((await imported()).length, 0, 'the look has stored something');
  await Promise.all([page.waitForResponse(expected), page.getByRole('button', { name: 'Import', exact: true }).click()]);
  await table.getByText('imported', { exact: true }).waitFor();
  assert.equal((await imported()).length, 1);
  await page.setInputFiles('input[type=file]', files.slice(0, 1));
  await table.getByText('imported before; stays as it is').waitFor();
  assert.equal((await imported()).length, 1);
  const large = Buffer.from(JSON.stringify(chat).padEnd((8 << 20) + 1)); // is uploaded first
  await page.setInputFiles('input[type=file]', [{ name: 'chat.json', mimeType: 'application/json', buffer: large }]);
  await table.getByText('imported before; stays as it is').waitFor();
  assert.ok(!(await server.ask('GET', '/v1/files')).data.some((file) => file.name.startsWith('import ')), 'the upload is left behind');
});
