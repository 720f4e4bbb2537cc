// The conversation page: everything that a person does in a conversation besides talking.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { accessible, lastAnswer, once, open, right, Server, until } from './harness.mjs';
import { chrome, context, server, stage, tab } from './stage.mjs';

stage({ viewport: { width: 1400, height: 800 }, permissions: ['clipboard-read', 'clipboard-write'] });

const composer = '[data-composer]';
const growing = 'article[aria-busy=true] .prose-chat';
const script = (steps, fields = {}) => server.session(JSON.stringify(steps), { model: 'sim/script', ...fields });
const menu = async (page, name) => {
  await page.getByRole('button', { name: 'Conversation menu' }).click();
  await page.getByRole('menuitem', { name, exact: true }).click();
};

test('the page shows who else has a conversation open, until they leave', async () => {
  const session = await server.session('Both look');
  const page = await tab(`/c/${session.id}`);
  await until(async () => (await server.ask('GET', `/v1/sessions/${session.id}/clients`)).data.length === 1, 'this window is known');
  assert.equal(await page.locator('[data-presence]').count(), 0, 'this window alone is nobody else');
  const elsewhere = await chrome.newContext();
  const other = await open(elsewhere, server, `/c/${session.id}`);
  await page.getByText('Open in another window').waitFor();
  await other.getByText('Open in another window').waitFor();
  await other.goto('about:blank'); // a tab that is closed by force sends no last request
  await server.ask('PUT', '/v1/clients/editor/session', { session_id: session.id });
  await server.ask('DELETE', '/v1/clients/editor/session');
  await page.locator('[data-presence]').waitFor({ state: 'detached' });
  await elsewhere.close();
  right(page);
});

once('the outline leads to any question of a long conversation, and [ and ] step through them', async () => {
  const session = await server.ask('POST', '/v1/sessions', { model: 'sim/echo' });
  const post = (n) => server.ask('POST', `/v1/sessions/${session.id}/messages`, { role: 'user', respond: false, content: { text: `Question ${n} ${'and so on '.repeat(30)}` } });
  for (let n = 1; n <= 220; n++) await post(n);
  const page = await tab(`/c/${session.id}`);
  await page.getByText('Question 220').waitFor();
  await page.keyboard.press('o');
  const outline = page.getByRole('list', { name: 'Outline' });
  await outline.getByText('Question 220').waitFor();
  assert.equal(await outline.getByText(/^Question 3 and/).count(), 0);
  await page.getByRole('button', { name: 'Show earlier' }).click();
  await outline.getByText(/^Question 3 and/).click();
  const at = page.locator('article', { hasText: /^Question 3 and/ });
  await at.waitFor();
  await page.locator('[data-transcript]').focus();
  for (const [key, n] of [[']', 4], [']', 5], ['[', 4], ['[', 3], ['[', 2]]) {
    await page.keyboard.press(key);
    await page.locator('[data-sought] article', { hasText: new RegExp(`^Question ${n} and`) }).waitFor();
  }
  await page.getByRole('button', { name: 'Tools', exact: true }).click();
  await page.getByText('No tool was called.').waitFor();
  await page.getByRole('button', { name: 'Asked', exact: true }).press('Escape');
  await outline.waitFor({ state: 'detached' });
  right(page);
});

once('a sub-conversation and a fork show where they come from', async () => {
  await server.ask('POST', '/v1/agents', { name: 'Leading', tools: [{ name: 'delegate', description: 'Asks another agent', agent: 'parley' }] });
  const session = await script([[{ tool_call: { name: 'delegate', arguments: { task: 'Count the ships' } } }], [{ text: 'Counted.' }]], { agent_id: 'leading', title: 'The harbour' });
  const record = await server.settled(session.id);
  const page = await tab(`/c/${session.id}?panel=tree`);
  await page.getByRole('list', { name: 'Sub-conversations' }).getByText('Count the ships').click();
  await page.getByRole('navigation', { name: 'Where this conversation comes from' }).getByText('The harbour').click();
  await page.waitForURL(new RegExp(session.id));
  const fork = await server.ask('POST', `/v1/sessions/${session.id}/fork`, { at: record.at(-1).id, title: 'Another harbour' });
  await page.goto(`${server.url}/c/${fork.id}?panel=lineage`);
  await page.getByRole('complementary', { name: 'Forks' }).getByText('The harbour').click();
  await page.getByRole('complementary', { name: 'Forks' }).getByText('Another harbour').waitFor();
  // Marking a shared message in a fork affects only the fork.
  await page.goto(`${server.url}/c/${fork.id}`);
  await page.locator('article').first().hover();
  await page.getByRole('button', { name: 'Pin to the context' }).first().click();
  await page.getByRole('button', { name: 'Unpin from the context' }).waitFor();
  const pinned = async (id) => (await server.ask('GET', `/v1/sessions/${id}/messages`)).data[0].marks.pinned;
  assert.deepEqual([await pinned(fork.id), await pinned(session.id)], [true, false]);
  right(page);
});

once('one approval can cover a conversation with all of its sub-conversations', async () => {
  await server.ask('POST', '/v1/agents', { name: 'Clock', model: 'sim/tool', tools: ['current_time'], grants: [{ tool: 'current_time', effect: 'ask' }] });
  await server.ask('POST', '/v1/agents', { name: 'Asking clocks', tools: [{ name: 'delegate', description: 'Asks a clock', agent: 'clock' }] });
  const asks = [{ tool_call: { name: 'delegate', arguments: { task: 'What time is it?' } } }];
  const session = await script([asks, asks, [{ text: 'Both clocks agree.' }]], { agent_id: 'asking-clocks', title: 'Clocks' });
  const page = await tab('/inbox');
  const card = page.locator('[data-approval]');
  await card.getByRole('button', { name: 'Always in this conversation and all of its sub-conversations' }).click();
  await page.goto(`${server.url}/c/${session.id}`);
  await page.getByText('Both clocks agree.', { exact: true }).waitFor(); // the second clock asked nobody
  const { data } = await server.ask('GET', `/v1/sessions/${session.id}/tree`);
  assert.equal(data.length, 3);
  const asked = await Promise.all(data.map(async (one) => (await server.ask('GET', `/v1/sessions/${one.id}/approvals`)).data));
  assert.deepEqual([...new Map(asked.flat().map(({ id, scope, state }) => [id, `${scope} ${state}`])).values()], ['tree approved']);
  right(page);
});

once('a failure says what to do, and the turn can be retried with another model', async () => {
  const session = await script([[{ text: 'I begin' }, { error: { class: 'auth', retryable: false, message: 'no such key' } }]], { title: 'It fails' });
  const page = await tab(`/c/${session.id}`);
  const card = page.getByRole('group', { name: 'What went wrong' });
  await card.getByText('Check the provider').waitFor();
  await card.getByRole('link', { name: 'Providers and keys' }).waitFor();
  await card.getByRole('button', { name: 'Choose another model' }).click();
  const model = page.getByLabel('Model of this conversation');
  assert.ok(await model.evaluate((element) => element === document.activeElement));
  await model.selectOption('sim/echo');
  await page.getByRole('button', { name: 'Change it' }).click();
  await until(async () => (await server.ask('GET', `/v1/sessions/${session.id}`)).model === 'sim/echo');
  await card.getByRole('button', { name: 'Try again' }).click();
  await page.locator('article[aria-label^="Answer"]', { hasText: 'error' }).waitFor();
  await card.getByRole('button', { name: 'Try again' }).waitFor({ state: 'detached' });
  right(page);
});

once('a turn that fails before its first word says why, even after a reload', async () => {
  const session = await server.session('word '.repeat(3000), { max_tokens: 999_900 }); // leaves no room for the question
  await server.settled(session.id);
  const page = await tab(`/c/${session.id}`);
  await page.getByRole('group', { name: 'What went wrong' }).getByText('longer than the model can read').waitFor();
  right(page);
});

once('a retry counts down, and an answer that was cut off can be continued', async () => {
  const failing = await server.ask('POST', '/v1/sessions', { model: 'sim/script' });
  const page = await tab(`/c/${failing.id}`);
  await page.fill(composer, JSON.stringify([[{ error: { class: 'rate_limit', retry_after_ms: 4000, attempts: 1 } }, { text: 'Here I am.' }]]));
  await page.press(composer, 'Enter');
  await page.getByText(/The provider limits requests: retry 2 in \d/).waitFor();
  await page.locator('article[aria-label^="Answer"]', { hasText: 'Here I am.' }).waitFor();
  const cut = await script([[{ text: 'This is cut' }, { finish: 'length' }], [{ text: 'off here.' }]]);
  await server.settled(cut.id);
  await page.goto(`${server.url}/c/${cut.id}`);
  await page.getByText('cut off at its token limit').waitFor();
  await page.getByRole('button', { name: 'Continue' }).click();
  await until(async () => (await lastAnswer(page)) === 'off here.');
  right(page);
});

const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

once('files are attached by button, paste and drop; too large ones are refused, and each can be removed', async () => {
  const page = await tab('/new');
  await page.getByLabel('Files', { exact: true }).setInputFiles({ name: 'dot.png', mimeType: 'image/png', buffer: PNG });
  const files = page.getByRole('list', { name: 'Attached files' });
  const given = (how, name, bytes) =>
    page.evaluate(
      ([event, file, length]) => {
        const data = new DataTransfer();
        data.items.add(new File([new Uint8Array(length).fill(97)], file, { type: 'text/plain' }));
        const made = event === 'paste' ? new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }) : new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true });
        document.querySelector('[data-composer]').dispatchEvent(made);
      },
      [how, name, bytes],
    );
  await given('paste', 'pasted.txt', 3);
  await given('drop', 'dropped.txt', 4);
  await given('drop', 'huge.bin', 65 * 1024 * 1024);
  await files.getByText('Larger than 64 MiB.').waitFor();
  await page.fill(composer, 'Look at these');
  await page.press(composer, 'Enter');
  await page.getByText('Not uploaded: huge.bin').waitFor();
  await page.getByRole('button', { name: 'Remove huge.bin' }).click();
  await page.getByRole('button', { name: 'Remove pasted.txt' }).click();
  await files.getByText('uploading').waitFor({ state: 'detached' });
  assert.equal(await files.locator('li').count(), 2);
  await page.press(composer, 'Enter');
  await page.waitForURL(/\/c\//);
  const sent = page.getByRole('list', { name: 'Files', exact: true });
  await sent.getByText('dot.png').waitFor();
  await sent.getByText('dropped.txt').waitFor();
  await until(async () => await sent.locator('img').evaluate((image) => image.naturalWidth > 0), 'the thumbnail is shown');
  right(page);
});

once('a message and its code can be copied, and the whole conversation exported', async () => {
  const session = await script([[{ text: 'See:\n\n```js\nlet a = 1;\n```' }]], { title: 'To take along' });
  await server.settled(session.id);
  const page = await tab(`/c/${session.id}`);
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  const answer = page.locator('article[aria-label^="Answer"]');
  await answer.locator('figure').getByRole('button', { name: 'Copy' }).click();
  await until(async () => (await clipboard()).trim() === 'let a = 1;');
  await answer.getByRole('button', { name: 'Copy', exact: true }).last().click();
  await until(async () => (await clipboard()).startsWith('See:'));
  for (const [name, file, part] of [['Export as Markdown', 'To-take-along.md', '# To take along'], ['Export as JSON', 'To-take-along.json', '"messages":[{']]) {
    const [download] = await Promise.all([page.waitForEvent('download'), menu(page, name)]);
    assert.equal(download.suggestedFilename(), file);
    assert.ok(readFileSync(await download.path(), 'utf8').includes(part), `${file} has no ${part}`);
  }
  right(page);
});

once('an agent’s question is answered in place; tool cards are folded and counted, and stay open or closed', async () => {
  await server.ask('POST', '/v1/agents', { name: 'Asking', tools: ['ask_user', 'current_time'] });
  const time = { tool_call: { name: 'current_time', arguments: {} } };
  const session = await script([[{ reasoning: 'First I look.' }, { text: 'A moment.' }, time, time, { tool_call: { name: 'nowhere', arguments: {} } }], [{ tool_call: { name: 'ask_user', arguments: { question: 'Which colour?', options: ['Red', 'Blue'] } } }], [{ text: 'Blue it is.' }]], { agent_id: 'asking', title: 'Colours' });
  const page = await tab(`/c/${session.id}`);
  await page.getByText('Waiting for your answer').first().waitFor();
  await page.getByRole('button', { name: 'Blue' }).click();
  await page.getByText('Blue it is.', { exact: true }).waitFor();
  await until(() => page.evaluate(() => document.activeElement?.matches('[data-composer]')), 'one goes on writing');
  assert.equal(await page.getByText('First I look.', { exact: true }).count(), 0, 'reasoning is folded');
  await page.getByRole('button', { name: 'Thought' }).click();
  await page.getByText('First I look.', { exact: true }).waitFor();
  const card = page.getByRole('region', { name: 'Tools: current_time, nowhere, ask_user' }).or(page.getByRole('region', { name: 'Tools: current_time, nowhere' })).first();
  await card.getByText('1 failed').waitFor();
  await card.getByRole('button').first().click();
  await card.getByText('current_time').nth(1).waitFor();
  await page.getByRole('link', { name: 'New conversation' }).click();
  await page.getByText('What shall we talk about?').waitFor();
  await page.goBack();
  await card.getByText('current_time').nth(1).waitFor(); // still open
  right(page);
});

once('a conversation is renamed, tagged, set to another effort, archived, reopened and deleted', async () => {
  const session = await server.session('To be kept in order');
  await server.settled(session.id);
  const page = await tab(`/c/${session.id}`);
  const now = () => server.ask('GET', `/v1/sessions/${session.id}`);
  await page.getByRole('heading', { level: 1 }).dblclick();
  await page.getByLabel('Title').fill('In order');
  await page.getByLabel('Title').press('Enter');
  await page.getByRole('heading', { name: 'In order' }).waitFor();
  await menu(page, 'Rename');
  await page.getByLabel('Title').waitFor();
  await page.keyboard.type('In good order'); // replaces the selected title
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'In good order' }).waitFor();
  await page.locator('[data-session-list]').getByText('In good order').waitFor();
  await menu(page, 'Settings…');
  await page.getByLabel('Reasoning effort').selectOption('low');
  await page.getByLabel('Tags').fill('sea, ships ,sea');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  const set = await now();
  assert.deepEqual([set.title, set.reasoning_effort, set.tags], ['In good order', 'low', ['sea', 'ships']]);
  await menu(page, 'Archive');
  await page.getByText('This conversation is archived.').waitFor();
  await menu(page, 'Reopen');
  await page.getByText('This conversation is archived.').waitFor({ state: 'detached' });
  await menu(page, 'Delete');
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.waitForURL(/\/new/);
  await page.locator('[data-session-list]').getByText('In good order').waitFor({ state: 'detached' });
  right(page);
});

once('without a key two clicks show a tool that asks for approval, or a long answer to stop', async () => {
  const page = await tab('/new');
  await page.getByRole('button', { name: /Watch it use a tool/ }).click();
  await page.getByRole('button', { name: 'Approve once' }).click();
  await page.getByText('Simulated: the tool current_time answered').waitFor();
  await until(() => page.evaluate(() => document.activeElement?.matches('[data-composer]')), 'the focus goes on');
  await page.locator('[data-announcer]', { hasText: 'The answer is complete.' }).waitFor({ state: 'attached' });
  await page.locator('[data-meter]').click();
  await page.getByRole('complementary', { name: 'Context' }).getByText('until older messages are summed up').waitFor();
  await page.getByRole('link', { name: 'Details', exact: true }).click();
  await page.getByRole('complementary', { name: 'Details' }).getByText('2 model calls').waitFor();
  await page.getByRole('link', { name: 'New conversation' }).click();
  await page.getByRole('button', { name: /Watch it fail/ }).click();
  await page.waitForURL(/\/c\/[^/]+$/);
  const failing = new URL(page.url()).pathname.split('/').at(-1);
  await server.settled(failing); // what the page says meanwhile has a test with a longer wait
  await page.locator('article[aria-label^="Answer"]', { hasText: 'Are you there?' }).waitFor();
  const calls = (await server.ask('GET', `/v1/sessions/${failing}/calls`)).data;
  assert.deepEqual(calls.map((call) => call.error?.class ?? call.outcome).sort(), ['completed', 'network', 'network']);
  await page.getByRole('link', { name: 'New conversation' }).click();
  await page.getByRole('button', { name: /Watch a long answer/ }).click();
  await page.locator(growing).waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('stopped', { exact: true }).waitFor();
  right(page);
});

once('a turn that was stopped before it began can be retried', async () => {
  const session = await script([[{ wait_ms: 60_000 }, { text: 'Late.' }]], { title: 'Slow' });
  const page = await tab(`/c/${session.id}`);
  await page.getByText('Waiting for the model').first().waitFor();
  await page.press(composer, 'Escape');
  await page.locator('[data-stopped]').waitFor();
  await page.reload();
  await server.ask('PATCH', `/v1/sessions/${session.id}`, { model: 'sim/echo' });
  await page.locator('[data-stopped]').getByRole('button', { name: 'Try again' }).click();
  await page.locator('article[aria-label^="Answer"]', { hasText: 'wait_ms' }).waitFor();
  assert.equal(await page.locator('[data-stopped]').count(), 0);
  right(page);
});

once('the queue keeps line breaks, and can be reordered', async () => {
  const session = await server.session('Write', { model: 'sim/lorem-9000-20', title: 'A queue' });
  const page = await tab(`/c/${session.id}`);
  await page.locator(growing).waitFor();
  const queued = () => server.ask('GET', `/v1/sessions/${session.id}/messages?status=queued`).then((list) => list.data.map((one) => one.content.text));
  for (const text of ['one', 'two', 'three\nlines']) {
    await page.fill(composer, text);
    await page.press(composer, 'Enter');
    await until(async () => (await page.inputValue(composer)) === '');
  }
  const fields = page.getByLabel('Queued message', { exact: true });
  await fields.nth(2).focus();
  await fields.nth(1).focus();
  await page.getByRole('button', { name: 'Move up' }).last().click();
  await until(async () => (await fields.nth(1).inputValue()) === 'three\nlines', 'the last one is the second');
  assert.deepEqual(await queued(), ['one', 'three\nlines', 'two']);
  await server.stopped(session.id);
  right(page);
});

once('a person keeps writing without the mouse: on a new page, after sending, after stopping; Escape stops from anywhere', async () => {
  const page = await tab('/agents');
  const writes = () => until(() => page.evaluate(() => document.activeElement?.matches('[data-composer]')), 'the focus is where one writes');
  await page.getByRole('link', { name: 'New conversation' }).click();
  await writes();
  await page.getByLabel('Model').selectOption('sim/lorem-200-5');
  await page.focus(composer);
  await page.keyboard.type('Begin');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/c\//);
  await writes();
  const session = await server.session('Write', { model: 'sim/lorem-9000-20', title: 'To be stopped' });
  await page.goto(`${server.url}/c/${session.id}`);
  await page.locator(growing).waitFor();
  await page.keyboard.press('Escape'); // nothing has the focus
  await page.locator('[data-stopped]').waitFor();
  await writes();
  right(page);
});

once('a message that could not be sent is sent once the server responds again', async () => {
  const session = await server.session('Hello', { title: 'Cut off' });
  await server.settled(session.id);
  const page = await tab(`/c/${session.id}`);
  await page.locator('article[aria-label^="Answer"]').waitFor();
  await context.setOffline(true);
  await page.fill(composer, 'said offline');
  await page.press(composer, 'Enter');
  await page.getByText('Your message is kept here').waitFor();
  assert.equal(await page.inputValue(composer), 'said offline');
  await context.setOffline(false);
  await page.locator('article[aria-label^="Answer"]', { hasText: 'said offline' }).waitFor();
  assert.equal(await page.inputValue(composer), '');
  assert.equal(await page.getByText('Your message is kept here').count(), 0);
  assert.equal((await server.settled(session.id)).filter((one) => one.role === 'user').length, 2);
  right(page);
});

once('a conversation that does not exist, or is deleted while open, links elsewhere', async () => {
  const page = await tab('/c/nope');
  await page.getByText('Conversation not found').waitFor();
  assert.equal(await page.locator(composer).count(), 0);
  assert.match(await page.title(), /^(\(\d+\) )?No conversation – Parley$/); // a number: of what waits in the inbox
  await page.locator('main').getByRole('link', { name: 'New conversation' }).click();
  await page.locator(composer).waitFor();
  const session = await server.session('Soon gone');
  await server.settled(session.id);
  await page.goto(`${server.url}/c/${session.id}`);
  await page.locator('article[aria-label^="Answer"]').waitFor();
  await server.ask('DELETE', `/v1/sessions/${session.id}`);
  await page.getByText('This conversation was deleted.').waitFor();
  right(page);
});

once('a reader is offered nothing that would be refused', async () => {
  const guarded = await Server.start();
  const elsewhere = await chrome.newContext();
  try {
    const session = await guarded.ask('POST', '/v1/sessions', { model: 'sim/echo', visibility: 'workspace', message: { role: 'user', content: { text: 'Read this' } } });
    await guarded.settled(session.id);
    const admin = await guarded.ask('POST', '/v1/keys', { name: 'admin', role: 'admin' });
    const reader = await guarded.ask('POST', '/v1/keys', { name: 'reader', role: 'reader' }, { Authorization: `Bearer ${admin.key}` });
    const page = await open(elsewhere, guarded, '/new');
    await page.getByLabel('Key').fill(reader.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('You have read access').waitFor();
    assert.equal(await page.getByRole('link', { name: 'New conversation' }).count(), 0);
    await page.goto(`${guarded.url}/c/${session.id}`);
    await page.locator('article[aria-label^="Answer"]', { hasText: 'Read this' }).waitFor();
    await page.getByText('You have read access').waitFor();
    for (const name of ['Fork from here', 'Edit, in a new branch', 'Send']) assert.equal(await page.getByRole('button', { name }).count(), 0, name);
    await page.getByRole('button', { name: 'Conversation menu' }).click();
    assert.deepEqual(await page.getByRole('menuitem').allInnerTexts(), ['Details', 'Outline', 'Inspect', 'Export as Markdown', 'Export as JSON']);
    right(page);
  } finally {
    await elsewhere.close();
    await guarded.end();
  }
});

once('an answer in the form of an object is a tree, and its text is a click away', async () => {
  const output = { name: 'plan', schema: { type: 'object', properties: { title: { type: 'string' }, steps: { type: 'array', items: { type: 'string' } } }, required: ['title', 'steps'], additionalProperties: false } };
  const session = await server.session('{"title": "A walk", "steps": ["up", "down"]}', { model: 'sim/object', output });
  const text = (await server.settled(session.id)).findLast((one) => one.role === 'assistant').content.text;
  const page = await tab(`/c/${session.id}`);
  const object = page.locator('[data-object]');
  await object.getByText('title', { exact: true }).waitFor();
  await accessible(page, 'an object');
  await object.getByRole('button', { name: 'As the model wrote it' }).click();
  await object.locator('code', { hasText: text.slice(0, 20) }).waitFor();
  right(page);
});
