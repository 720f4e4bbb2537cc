// Directories, the model's context, the inspector, and usage.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { accessible, once, open, right, Server, until } from './harness.mjs';
import { chrome, server, stage, tab } from './stage.mjs';

// home is the only directory that may contain projects.
const home = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-home-')));
process.env.PARLEY_PROJECT_ROOTS = home;
stage();

after(() => rmSync(home, { recursive: true, force: true }));

once('a directory is found with the keyboard alone, and becomes a project', async () => {
  for (const one of ['work/deep/down', 'archive', '.hidden']) mkdirSync(path.join(home, one), { recursive: true });
  symlinkSync(tmpdir(), path.join(home, 'outside'));
  const page = await tab('/new');
  await page.getByLabel('Project').selectOption({ label: 'Choose a directory…' });
  const find = page.getByPlaceholder('Type to find');
  const names = async () => (await page.getByRole('option').allInnerTexts()).join(' ');
  await until(async () => (await names()) === 'archive work', 'the one root is open, without what is hidden or leads outside');
  await accessible(page, 'the choice of a directory');
  await find.fill('wor');
  await find.press('Enter');
  await until(async () => (await names()) === 'deep');
  await find.press('Enter');
  await until(async () => (await names()) === 'down');
  assert.equal(await page.getByLabel('Path').inputValue(), path.join(home, 'work/deep'));
  await find.press('Backspace');
  await until(async () => (await names()) === 'deep');
  await page.getByLabel('Path').fill('/');
  await page.getByText('The directories allowed for projects do not contain "/"').waitFor();
  await until(() => page.getByRole('button', { name: 'Use /' }).isDisabled(), 'what is not there can be used');
  await page.getByLabel('Path').fill(path.join(home, 'work'));
  await page.getByRole('button', { name: 'Use work' }).click();
  await until(async () => (await page.getByLabel('Project').locator('option:checked').innerText()) === 'work', 'it is chosen');
  await page.goto(`${server.url}/projects`);
  await page.getByRole('link', { name: /work/ }).waitFor();
  await page.getByRole('button', { name: 'Add a directory' }).click();
  await page.getByRole('option', { name: /work/ }).getByText('project').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: /work/ }).click();
  await page.getByText('No conversations in this project yet.').waitFor();
  await accessible(page, 'a project');
  right(page);
});

once('the context of the next call is shown byte by byte, and follows the conversation', async () => {
  const agent = await server.ask('POST', '/v1/agents', { name: 'Brief', system_prompt: 'You are brief.', tools: ['current_time'], context_policy: { kind: 'recent', limit: 2 } });
  const session = await server.session('Grüße “eins” \\ 1', { agent_id: agent.id });
  const say = async (text) => {
    await server.ask('POST', `/v1/sessions/${session.id}/messages`, { content: { text } });
    return server.settled(session.id);
  };
  const [first] = await server.settled(session.id);
  await server.ask('PUT', `/v1/messages/${first.id}/marks`, { pinned: true });
  for (const text of ['zwei', 'drei', 'vier']) await say(text);
  const page = await tab(`/c/${session.id}?panel=context`);
  const panel = page.getByRole('complementary', { name: 'Context' });
  await panel.getByText('outside the window (recent(2))').waitFor();
  await panel.getByRole('button', { name: /^Messages/ }).click();
  await panel.getByRole('button', { name: /#1 user/ }).click();
  const { request, parts } = await server.ask('GET', `/v1/sessions/${session.id}/context`);
  const { span } = parts.find((part) => part.sequence === 1);
  const bytes = Buffer.from(JSON.stringify(request)).subarray(span.offset, span.offset + span.length).toString();
  await until(async () => (await panel.locator('pre').innerText()) === bytes, 'the bytes are the server’s');
  await panel.getByRole('button', { name: 'Unpin from the context' }).click();
  await panel.getByText('No pinned messages.').waitFor();
  await say('fünf');
  await panel.getByRole('button', { name: /#10 / }).waitFor();
  await panel.getByRole('button', { name: 'Clear context' }).click();
  await panel.getByText('cleared: the window begins with the next message').first().waitFor();
  await accessible(page, 'the context');
  right(page);
});

const rows = '[data-rows] [data-row]';

once('rows arrive while a session streams, and a delta causes no request', async () => {
  const session = await server.session('Write', { model: 'sim/lorem-9000-20' });
  const page = await tab(`/c/${session.id}/inspect`);
  const growing = page.locator(rows, { hasText: 'running' }).filter({ hasText: 'assistant' });
  await growing.waitFor();
  await page.locator(rows, { hasText: 'model call' }).getByText('open').waitFor();
  const asked = [];
  page.on('request', (request) => request.url().includes(session.id) && !request.url().endsWith('/tree') && asked.push(request.url()));
  let text = await growing.innerText();
  for (let n = 0; n < 4; n++) {
    await until(async () => (await growing.innerText()) !== text, 'the row grows');
    text = await growing.innerText();
  }
  assert.deepEqual(asked, [], 'deltas were followed by requests');
  await server.stopped(session.id);
  await page.locator(rows, { hasText: 'model call' }).getByText('cancelled').waitFor();
  await until(async () => (await page.getByText('running', { exact: true }).count()) === 0, 'nothing runs any more');
  await page.getByText('hidden: events').waitFor();
  const shown = page.getByRole('group', { name: 'Kinds of rows' });
  const { last_event_sequence: events } = await server.ask('GET', `/v1/sessions/${session.id}`);
  await until(async () => (await shown.getByRole('button', { name: `Events ${events}`, pressed: false }).count()) === 1, 'the hidden events are counted');
  await shown.getByRole('button', { name: 'Events' }).click();
  await page.locator(rows, { hasText: 'session.cancelled' }).waitFor();
  for (const name of ['Human', 'Assistant', 'Tools', 'Model calls']) await shown.getByRole('button', { name, pressed: true }).click();
  await page.getByText(`${events} rows`).waitFor();
  await page.locator('[data-rows]').focus();
  await page.keyboard.press('ArrowUp');
  await page.waitForURL(/only=events&row=event-\d+|row=event-\d+&only=events/);
  await page.goBack(); // the row closes
  await page.waitForURL((url) => url.searchParams.get('only') === 'events' && !url.searchParams.has('row'));
  right(page);
});

once('the inspector keeps its position while older rows arrive above and new ones below', async () => {
  const session = await server.ask('POST', '/v1/sessions', {});
  const say = (n) => server.ask('POST', `/v1/sessions/${session.id}/messages`, { role: 'user', respond: false, content: { text: `Number ${n}.` } });
  for (let n = 1; n <= 150; n++) await say(n);
  const page = await tab(`/c/${session.id}/inspect?only=human`);
  await page.locator(rows, { hasText: 'Number 150.' }).waitFor();
  const place = (text) => page.locator(rows, { hasText: text }).evaluate((row) => row.getBoundingClientRect().top);
  const scroll = (top) => page.locator('[data-rows]').evaluate((list, to) => (list.scrollTop = to), top);
  await scroll(300);
  await until(async () => (await page.locator('[data-rows]').evaluate((list) => list.scrollTop)) > 1_500, 'older rows came in above');
  const seen = /Number \d+\./.exec((await page.locator(rows).nth(20).innerText()))[0];
  const before = await place(seen);
  await say(151);
  await page.getByText('151 rows').or(page.getByText(/1[2-9]1 rows/)).waitFor();
  assert.equal(await place(seen), before);
  await page.locator('[data-rows]').focus();
  await page.keyboard.press('End');
  await page.locator(rows, { hasText: 'Number 151.' }).waitFor();
  await say(152);
  await page.locator(rows, { hasText: 'Number 152.' }).waitFor();
  right(page);
});

once('sub-conversations are inspected in place, and any two calls compared', async () => {
  await server.ask('POST', '/v1/agents', { name: 'Scout', model: 'sim/echo' });
  const captain = await server.ask('POST', '/v1/agents', { name: 'Captain', model: 'sim/script', tools: [{ name: 'ask_scout', description: 'Sends the scout.', agent: 'scout' }] });
  const script = JSON.stringify([[{ tool_call: { name: 'ask_scout', arguments: { task: 'What do you see?' } } }], [{ text: 'Steady.' }]]);
  const session = await server.session(script, { agent_id: captain.id, model: 'sim/script' });
  await server.settled(session.id);
  const page = await tab(`/c/${session.id}/inspect`);
  await page.locator(rows, { hasText: 'model call' }).nth(1).click();
  await page.getByLabel('The call to compare with').selectOption({ index: 1 });
  await page.getByText('are the same prefix').waitFor();
  await page.waitForURL(/with=/);
  await page.reload(); // the address holds all of it
  await page.getByText('are the same prefix').waitFor();
  await page.locator(rows, { hasText: 'ask_scout' }).last().click();
  await page.getByRole('button', { name: 'Show the rows of its conversation' }).click();
  await page.getByRole('heading', { name: /Inspector: What do you see/ }).waitFor();
  assert.equal(await page.getByRole('navigation', { name: 'Sub-conversations' }).locator('[aria-current]').count(), 1);
  await accessible(page, 'the inspector of a sub-conversation');
  right(page);
});

once('usage is shown over time, in charts and tables', async () => {
  const agent = await server.ask('POST', '/v1/agents', { name: 'Counted' });
  const session = await server.session('How much?', { agent_id: agent.id });
  await server.settled(session.id);
  const page = await tab('/usage?by=agent&days=7');
  const chart = page.locator('[data-chart]').first();
  await chart.locator('canvas').waitFor();
  const legend = page.getByRole('list', { name: 'Legend' }).first();
  await legend.getByText('All days').waitFor();
  await legend.getByText('counted').waitFor();
  const { width } = await chart.boundingBox();
  await chart.hover({ position: { x: width - 80, y: 60 } });
  await legend.getByText(new Date().toISOString().slice(0, 10)).waitFor();
  await page.setViewportSize({ width: 900, height: 800 });
  await until(async () => (await chart.locator('canvas').boundingBox()).width < width - 250, 'the chart follows the page’s width');
  await page.getByText('The days as a table').click();
  await page.getByRole('region', { name: 'Usage by day' }).getByRole('cell', { name: new Date().toISOString().slice(0, 10) }).waitFor();
  await accessible(page, 'usage');
  right(page);
});

once('versions of an agent are compared field by field', async () => {
  const agent = await server.ask('POST', '/v1/agents', { name: 'Changing', system_prompt: 'One.\nTwo.', tools: ['current_time'] });
  await server.ask('PATCH', `/v1/agents/${agent.id}`, { system_prompt: 'One.\nThree.', temperature: 0.3 });
  await server.ask('PATCH', `/v1/agents/${agent.id}`, { tools: ['ask_user'] });
  const page = await tab(`/agents/${agent.id}`);
  const versions = page.getByRole('region', { name: 'Versions' });
  await versions.getByText('− current_time').waitFor();
  assert.equal(await versions.getByText('Three.').count(), 0, 'the prompt is as it was in version 2');
  await versions.getByLabel('Earlier version').selectOption('1');
  await versions.getByText('+ Three.').waitFor();
  await versions.locator('ins', { hasText: '0.3' }).waitFor();
  await page.reload(); // the address holds the compared versions
  await versions.getByText('+ Three.').waitFor();
  await accessible(page, 'versions of an agent');
  right(page);
});

once('a reader is offered no action on agents, projects, keys or the audit that would be refused', async () => {
  const guarded = await Server.start();
  const visitor = await chrome.newContext();
  try {
    const agent = await guarded.ask('POST', '/v1/agents', { name: 'Kept', system_prompt: 'Be kept.', tools: ['current_time'] });
    mkdirSync(path.join(home, 'kept'));
    const project = await guarded.ask('POST', '/v1/projects', { path: path.join(home, 'kept') });
    const admin = await guarded.ask('POST', '/v1/keys', { name: 'admin', role: 'admin' });
    const keyOf = (role) => guarded.ask('POST', '/v1/keys', { name: role, role }, { Authorization: `Bearer ${admin.key}` });
    const [reader, member] = [await keyOf('reader'), await keyOf('member')];
    const page = await open(visitor, guarded, `/agents/${agent.id}`);
    const refused = [];
    visitor.on('response', (response) => response.status() === 403 && refused.push(response.url()));
    const signIn = async (key) => {
      await page.getByLabel('Key').fill(key);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('button', { name: 'Sign out' }).waitFor();
    };
    const offered = async (address, there, ...names) => {
      await page.goto(guarded.url + address);
      await page.getByText(there).first().waitFor();
      const main = page.locator('main');
      for (const name of names) assert.equal(await main.getByRole('button', { name }).or(main.getByRole('link', { name })).count(), 0, `${name} at ${address}`);
    };
    await signIn(reader.key);
    await offered(`/agents/${agent.id}`, 'You have read access', 'Archive', 'Talk to it');
    assert.equal(await page.getByLabel('System prompt').inputValue(), 'Be kept.');
    await page.getByRole('checkbox').first().waitFor();
    assert.equal(await page.locator('main form').locator('input, textarea, select').and(page.locator(':not([readonly], :disabled)')).count(), 0, 'fields are for reading');
    await accessible(page, 'an agent as a reader sees it');
    await offered('/agents', 'Kept', 'New agent');
    await offered('/projects', project.path, 'Add a directory');
    await offered(`/projects/${project.id}`, 'No conversations in this project yet.', 'Remove', 'New conversation here');
    await offered('/settings/keys', 'Admins create keys.', 'Create a key', 'Revoke');
    await offered('/audit', 'The audit is for admins.', 'Show reads too');
    await visitor.clearCookies();
    await page.goto(`${guarded.url}/new`);
    await signIn(member.key);
    await offered('/settings/keys', 'Admins create keys.', 'Create a key');
    await offered('/audit', 'The audit is for admins.');
    assert.deepEqual(refused, []);
    right(page);
  } finally {
    await visitor.close();
    await guarded.end();
  }
});

once('an unknown address says so, and links elsewhere', async () => {
  const page = await tab('/projects/nope');
  const leads = async (title, says, to, ...names) => {
    await page.getByText(says).waitFor();
    await until(async () => (await page.title()) === `${title} – Parley`, title);
    assert.deepEqual(await page.locator('main').getByRole('button').allInnerTexts(), [], `what would act on nothing: ${title}`);
    await page.locator('main').getByRole('link', { name: to }).waitFor();
  };
  await leads('No such project', 'There is no project at this address.', 'All projects');
  await accessible(page, 'no project');
  await page.goto(`${server.url}/agents/nope`);
  await leads('No such agent', 'There is no agent at this address.', 'All agents');
  await page.goto(`${server.url}/c/UNKNOWN/inspect`);
  await leads('No conversation', 'Conversation not found', 'Search');
  await page.goto(`${server.url}/settings/nope`);
  await leads('No such settings', 'These settings do not exist.', 'Models');
  right(page);
});

once('unsaved changes to an agent are still there after leaving the page', async () => {
  const agent = await server.ask('POST', '/v1/agents', { name: 'Edited', system_prompt: 'One.' });
  const page = await tab(`/agents/${agent.id}`);
  const prompt = page.getByLabel('System prompt');
  await prompt.fill('Two.');
  await page.getByText('Not saved yet').waitFor();
  await page.getByRole('link', { name: 'Usage' }).click();
  await page.getByRole('heading', { name: 'Usage' }).waitFor();
  await page.goBack();
  await until(async () => (await prompt.inputValue()) === 'Two.', 'the edit is lost');
  await page.getByRole('button', { name: 'Save as version 2' }).click();
  await page.getByText('Version 2, changed').waitFor();
  assert.equal(await page.getByText('Not saved yet').count(), 0);
  await page.reload();
  await until(async () => (await prompt.inputValue()) === 'Two.');
  await prompt.fill('Three.');
  await page.getByRole('button', { name: 'Discard' }).click();
  assert.equal(await prompt.inputValue(), 'Two.');
  assert.ok(!(await page.evaluate(() => JSON.stringify({ ...localStorage }))).includes('Three.'), 'what was discarded is kept');
  right(page);
});
