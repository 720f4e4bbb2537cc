// What the model can still read: the meter, what goes first, summaries, and what became of each message.
import assert from 'node:assert/strict';
import { accessible, once, right, until } from './harness.mjs';
import { server, stage, tab } from './stage.mjs';

stage();

const composer = '[data-composer]';
const WORDS = 'more words of it '.repeat(25);

// told is a conversation of some turns, of about 100 tokens a message.
async function told(turns, fields = {}) {
  const session = await server.ask('POST', '/v1/sessions', { model: 'sim/echo', ...fields });
  for (let n = 1; n <= turns; n++) {
    await server.ask('POST', `/v1/sessions/${session.id}/messages`, { content: { text: `Question ${n}: ${WORDS}` } });
    await server.settled(session.id);
  }
  return session;
}
const recordOf = async (session) => (await server.ask('GET', `/v1/sessions/${session.id}/messages?limit=500`)).data;

once('the meter says when older messages are summed up and what goes first, and one click pins it', async () => {
  const session = await told(3, { title: 'Metered', context_policy: { kind: 'auto', tokens: 2000 } });
  const page = await tab(`/c/${session.id}`);
  const meter = page.locator('[data-meter]');
  await meter.hover();
  await until(async () => / % until older messages are summed up/.test(await meter.getAttribute('aria-label')), 'the meter says it');
  await meter.click();
  const panel = page.getByRole('complementary', { name: 'Context' });
  const foreseen = panel.getByRole('region', { name: 'Until it is shortened' });
  const { outlook } = await server.ask('GET', `/v1/sessions/${session.id}/context`);
  const left = Math.round(100 * (1 - outlook.share));
  await foreseen.getByText(`${left} % until older messages are summed up`, { exact: true }).waitFor();
  assert.equal(await foreseen.getByRole('meter').getAttribute('aria-valuenow'), String(100 - left));
  const first = foreseen.getByRole('list', { name: 'These go first' }).getByRole('listitem');
  assert.deepEqual((await first.allInnerTexts()).map((text) => text.split(' ')[0]), ['#2', '#3', '#4']);
  await panel.getByText('Nothing is left out.').waitFor();
  await accessible(page, 'the meter');
  await foreseen.getByRole('button', { name: 'Pin #2: it stays' }).click();
  await until(async () => (await first.count()) === 2, 'what is pinned does not go');
  assert.equal((await recordOf(session))[1].marks.pinned, true);
  await server.ask('PATCH', `/v1/sessions/${session.id}`, { context_policy: { kind: 'auto', tokens: 1000 } });
  await page.reload();
  await meter.getByText(/^\d+ % left$/).waitFor(); // near it is said without asking
  right(page);
});

once('a summary is shown before it is written, covers what can be read, is edited, set aside and written again', async () => {
  const session = await told(3, { title: 'Summed up' });
  const page = await tab(`/c/${session.id}?panel=context`, { viewport: { width: 1400, height: 900 } });
  await page.fill(composer, '/compact Keep the names.');
  await page.press(composer, 'Enter');
  const dialog = page.getByRole('dialog', { name: 'Summarise older messages?' });
  await dialog.getByText('#1 to #4: 4 messages').waitFor();
  await dialog.getByText('sim/echo', { exact: true }).waitFor();
  await dialog.getByText(/^at most \$|^unknown/).waitFor();
  assert.equal(await dialog.getByLabel('Instructions').inputValue(), 'Keep the names.');
  await accessible(page, 'what a summary would cover');
  assert.equal((await recordOf(session)).length, 6, 'the look wrote something, or sent the command');
  await dialog.getByRole('button', { name: 'Summarise', exact: true }).click();
  const summary = page.locator('[data-summary]');
  await summary.getByText('Summary of #1 to #4; the model sees it instead').click();
  assert.equal((await server.ask('GET', `/v1/sessions/${session.id}/compaction`)).instructions, 'Keep the names.');
  // What the model can still read, beside the conversation and in it.
  const panel = page.getByRole('complementary', { name: 'Context' });
  await panel.getByRole('list', { name: 'Messages', exact: true }).getByText('covered by a summary').waitFor();
  await page.locator('[data-fate=covered]').first().getByText(/The model does not see this: covered by the summary in message 7/).waitFor();
  // What it covers, and another version of it.
  await summary.getByRole('button', { name: 'Show what it covers' }).click();
  const covered = summary.getByRole('list', { name: 'What the summary covers' });
  await covered.getByText('Question 2:').first().waitFor();
  assert.equal(await covered.getByRole('listitem').count(), 4);
  await accessible(page, 'a summary with what it covers');
  await summary.getByRole('button', { name: 'Edit', exact: true }).click();
  await summary.getByLabel('The summary').fill('# Task: two questions [1, 3]');
  const text = '# Task: two questions [1, 3]';
  const foretold = await server.ask('POST', `/v1/sessions/${session.id}/preview?brief=true`, { change: { summary: { message_id: (await recordOf(session))[6].id, text } } });
  const least = foretold.change.extra < 0 ? /less\.$/ : /^Costs nothing more|^Resends|^The next message costs/;
  await summary.locator('form [data-cost]').filter({ hasText: least }).waitFor(); // before it is saved
  await summary.getByRole('button', { name: 'Save as a new version' }).click();
  await page.getByText('edited since: the model sees the one in #8').waitFor();
  const edited = page.locator('[data-summary=seen]');
  await edited.getByRole('button', { expanded: false }).click();
  await edited.getByText('two questions').waitFor();
  await edited.getByRole('link', { name: 'Read the version before' }).waitFor();
  const requestOf = async () => JSON.stringify((await server.ask('GET', `/v1/sessions/${session.id}/context`)).request);
  assert.match(await requestOf(), /two questions/);
  // Set aside: the version before is in force again; written again: neither is.
  await edited.getByRole('button', { name: 'Set aside', exact: true }).click();
  await page.locator('[data-summary=aside]').getByText('set aside: the model does not see it').waitFor();
  assert.doesNotMatch(await requestOf(), /two questions/);
  await page.locator('[data-summary=aside]').getByRole('button', { name: 'Use it again' }).click();
  await edited.getByRole('button', { name: 'Write it again…' }).click();
  await page.getByRole('dialog').getByText('The present summary of #1 to #4 is set aside').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Write it again' }).click();
  const versions = async () => (await recordOf(session)).slice(6).map((one) => [one.covers_through, one.marks.set_aside]);
  await until(async () => JSON.stringify(await versions()) === '[[4,true],[4,true],[4,false]]', 'the new one replaces both versions');
  await page.locator('[data-summary=seen]').getByText('Summary of #1 to #4; the model sees it instead').waitFor();
  await until(async () => (await page.locator('[data-summary=aside]').count()) === 2, 'both versions before it are set aside'); // each is told by itself
  right(page);
});

once('nothing to summarise is said where it was asked', async () => {
  const session = await told(1, { title: 'Short' });
  const page = await tab(`/c/${session.id}`);
  await page.getByRole('button', { name: 'Conversation menu' }).click();
  await page.getByRole('menuitem', { name: 'Summarise now…' }).click();
  await page.getByRole('dialog').getByText('there is nothing to summarise').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  right(page);
});

once('a cost that is an estimate is marked; usage is told by purpose', async () => {
  const session = await server.session('Write', { model: 'sim/lorem-9000-20' });
  const page = await tab(`/c/${session.id}`);
  await page.locator('article[aria-busy=true] .prose-chat').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.locator('[data-estimated]').getByText(/^estimated \$/).waitFor({ state: 'attached' });
  const summed = await told(2, { title: 'Counted' });
  await server.ask('POST', `/v1/sessions/${summed.id}/compact`, {});
  await until(async () => (await server.ask('GET', `/v1/sessions/${summed.id}/compaction`)).state === 'completed');
  await server.ask('POST', `/v1/sessions/${summed.id}/messages`, { content: { text: 'Only a trial' }, dry_run: true });
  await page.goto(`${server.url}/usage?by=purpose`);
  const table = page.getByRole('region', { name: 'Usage by purposes' });
  for (const purpose of ['Conversations', 'Summaries', 'Dry runs']) await table.getByRole('row', { name: new RegExp(`^${purpose} .* 1 |^${purpose}`) }).waitFor();
  await table.getByRole('row', { name: /^Conversations/ }).getByText(/estimated/).waitFor();
  const { data } = await server.ask('GET', '/v1/usage?group=purpose');
  assert.deepEqual(Object.fromEntries(data.map((row) => [row.purpose, row.calls])).dry_run, 1);
  right(page);
});

const rounded = (tokens) => Number(tokens.toPrecision(3)).toLocaleString('en');

once('what an edit, a mark or a prompt will cost is told before it is done', async () => {
  const agent = await server.ask('POST', '/v1/agents', { name: 'Seer', model: 'sim/echo', system_prompt: 'You see far. '.repeat(600) });
  const session = await told(3, { title: 'Foretold', agent_id: agent.id });
  const record = await recordOf(session);
  const preview = (change) => server.ask('POST', `/v1/sessions/${session.id}/preview`, { change });
  const page = await tab(`/c/${session.id}`, { viewport: { width: 1200, height: 1500 } }); // scrolling closes a tooltip
  const row = page.locator(`[data-message="${record[2].id}"]`);
  const tip = page.locator('[data-radix-popper-content-wrapper] [data-cost]');
  // A pin keeps the request as it is; a message set aside changes it from there on.
  await row.getByRole('button', { name: 'Pin to the context' }).focus();
  await tip.filter({ hasText: 'Costs nothing more: what is cached stays cached.' }).waitFor();
  await row.getByRole('button', { name: /^Set aside/ }).focus();
  const aside = await preview({ marks: [{ message_id: record[2].id, set_aside: true }] });
  const resent = aside.estimated_tokens - aside.cache.tokens - (aside.change.estimated_tokens - aside.change.cache.tokens);
  assert.ok(resent > 0 && resent <= aside.change.lost_tokens, JSON.stringify(aside.change));
  await tip.filter({ hasText: new RegExp(`^Resends ${rounded(resent)} tokens at full price`) }).waitFor();
  await accessible(page, 'what a mark costs', ['wcag2a', 'wcag2aa']); // a tooltip stands outside the landmarks
  assert.deepEqual(await recordOf(session), record, 'looking at what it costs changed something');
  // An edit, as it is written.
  await row.getByRole('button', { name: 'Edit, in a new branch' }).click();
  const box = page.getByLabel('Edited message');
  await box.fill('Another question');
  const edit = await preview({ edit: { message_id: record[2].id, content: { parts: [{ type: 'text', text: 'Another question' }] } } });
  const cost = page.locator('form [data-cost]');
  await cost.filter({ hasText: new RegExp(`^Sends ${rounded(edit.estimated_tokens - edit.cache.tokens)} tokens at full price, ${rounded(edit.cache.tokens)} from the cache`) }).waitFor();
  await accessible(page, 'what an edit costs');
  await box.fill(record[2].content.text);
  await until(async () => (await cost.innerText()) === '', 'without an edit nothing is told');
  await page.getByRole('button', { name: 'Cancel' }).click();
  // A model, in the conversation's settings.
  await page.getByRole('button', { name: 'Conversation menu' }).click();
  await page.getByRole('menuitem', { name: 'Settings…' }).click();
  await page.getByRole('dialog').getByLabel('Model').selectOption('sim/lorem-200-5');
  await page.getByRole('dialog').getByText(/^Resends [\d,]+ tokens at full price/).waitFor();
  await accessible(page, 'what another model costs');
  await page.keyboard.press('Escape');
  // A prompt of the agent: told of the conversation that its form was opened from, and of no other.
  await page.goto(`${server.url}/c/${session.id}?panel=info`);
  await page.getByRole('link', { name: 'Seer' }).click();
  await page.getByLabel('System prompt').fill('You are blind. '.repeat(300));
  await page.getByText(/^“Foretold”: Resends [\d,]+ tokens at full price/).waitFor();
  await accessible(page, 'what a prompt costs');
  await page.goto(`${server.url}/agents/${agent.id}`);
  await page.getByText(/^Not saved yet/).waitFor();
  assert.equal(await page.locator('[data-cost]').count(), 0);
  // What cannot be told stands in nobody's way.
  await page.goto(`${server.url}/c/${session.id}`);
  const asked = page.waitForRequest('**/preview?*');
  await page.route('**/preview?*', (route) => route.abort());
  await row.getByRole('button', { name: 'Pin to the context' }).focus();
  await asked;
  await row.getByRole('button', { name: 'Pin to the context' }).click();
  await row.getByRole('button', { name: 'Unpin from the context' }).waitFor();
  assert.equal((await recordOf(session))[2].marks.pinned, true);
  right(page);
});

once('a context policy is chosen in words, refused at its field, and its cost told before it is saved', async () => {
  const agent = await server.ask('POST', '/v1/agents', { name: 'Keeper', model: 'sim/echo', system_prompt: 'You keep far. '.repeat(600), context_policy: { kind: 'all' } });
  const session = await told(3, { title: 'Kept', agent_id: agent.id });
  const policyOf = async (path) => (await server.ask('GET', path)).context_policy;
  const page = await tab(`/c/${session.id}?panel=info`, { viewport: { width: 1400, height: 900 } });
  await page.getByRole('button', { name: 'Conversation menu' }).click();
  await page.getByRole('menuitem', { name: 'Settings…' }).click();
  const dialog = page.getByRole('dialog');
  const policy = dialog.getByLabel('Context policy');
  assert.equal(await policy.locator('option').first().innerText(), 'Everything (the agent’s)');
  await dialog.getByText('Everything that fits into what the model can read. Beyond that the oldest turns are dropped.').waitFor();
  await policy.selectOption({ label: 'Recent messages' });
  assert.equal(await dialog.getByLabel('Messages', { exact: true }).inputValue(), '10');
  await dialog.getByLabel('Messages', { exact: true }).fill('1');
  await dialog.getByText(/^(Resends [\d,]+ tokens at full price|The next message costs)/).waitFor();
  await accessible(page, 'a context policy');
  // What the server refuses is said at the field.
  await policy.selectOption({ label: 'Summary' });
  await dialog.getByLabel('Summary at, messages').fill('8');
  await dialog.getByLabel('Summary at, tokens').fill('5000');
  await dialog.getByRole('button', { name: 'Save' }).click();
  const field = dialog.locator('[data-policy] div:has(> label):has-text("Summary at, tokens")').last();
  await field.getByRole('alert').filter({ hasText: 'a limit in messages or in tokens, not both' }).waitFor();
  assert.equal(await dialog.getByRole('alert').count(), 1);
  await accessible(page, 'a refused policy');
  await dialog.getByLabel('Summary at, tokens').fill('');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.deepEqual(await policyOf(`/v1/sessions/${session.id}`), { kind: 'summary', limit: 8, tokens: null, recall: null });
  // The agent's, with what it costs the conversation that its form was opened from.
  await page.getByRole('link', { name: 'Keeper' }).click();
  await page.getByLabel('Context policy').selectOption({ label: 'Automatic' });
  await page.getByLabel('Longest window, tokens').fill('9000');
  await page.getByLabel('The model may read what it is no longer shown').uncheck();
  await page.getByText(/^“Kept”: /).waitFor();
  await accessible(page, 'the agent’s context policy');
  await page.getByRole('button', { name: 'Save as version 2' }).click();
  await until(async () => (await policyOf(`/v1/agents/${agent.id}`)).kind === 'auto');
  assert.deepEqual(await policyOf(`/v1/agents/${agent.id}`), { kind: 'auto', limit: null, tokens: 9000, recall: false });
  await page.getByLabel('Context policy').selectOption({ label: 'default' });
  await page.getByRole('button', { name: 'Save as version 3' }).click();
  await until(async () => (await policyOf(`/v1/agents/${agent.id}`)) === null);
  right(page);
});

once('what a change costs is told by touch, and another model’s before it is taken; the page asks for no request', async () => {
  const agent = await server.ask('POST', '/v1/agents', { name: 'Toucher', model: 'sim/echo', system_prompt: 'You feel far. '.repeat(600) });
  const session = await told(3, { title: 'Touched', agent_id: agent.id, context_policy: { kind: 'auto', tokens: 6000 } });
  const page = await tab(`/c/${session.id}`, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const answers = [];
  page.on('response', (response) => /\/(preview|context)(\?|$)/.test(response.url()) && answers.push(response));
  const pin = page.locator('article').last().getByRole('button', { name: 'Pin to the context' });
  const { x, y, width, height } = await pin.boundingBox();
  const touch = await page.context().newCDPSession(page);
  await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x: x + width / 2, y: y + height / 2 }] });
  const tip = page.locator('[data-radix-popper-content-wrapper] [data-cost]');
  await tip.filter({ hasText: 'Costs nothing more: what is cached stays cached.' }).waitFor();
  await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
  await accessible(page, 'what a touch tells', ['wcag2a', 'wcag2aa']); // a tooltip stands outside the landmarks
  assert.equal((await recordOf(session)).at(-1).marks.pinned, false, 'holding it pressed it');
  await page.locator('[data-composer]').tap();
  await tip.waitFor({ state: 'detached' });
  await pin.tap();
  await until(async () => (await recordOf(session)).at(-1).marks.pinned, 'a tap presses it');
  // Another model.
  const model = page.getByLabel('Model of this conversation');
  await model.selectOption('sim/lorem-200-5');
  const dialog = page.getByRole('dialog', { name: 'Change the model?' });
  await dialog.getByText(/^Resends [\d,]+ tokens at full price/).waitFor();
  await accessible(page, 'what another model costs');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await dialog.waitFor({ state: 'detached' });
  const now = await server.ask('GET', `/v1/sessions/${session.id}`);
  assert.deepEqual([now.model, await model.inputValue()], ['sim/echo', 'sim/echo']);
  await model.selectOption('sim/lorem-200-5');
  await dialog.getByRole('button', { name: 'Change it' }).click();
  await until(async () => (await server.ask('GET', `/v1/sessions/${session.id}`)).model === 'sim/lorem-200-5');
  // None of these questions was answered with the request.
  assert.ok(answers.length >= 2, 'the page asked what it costs');
  for (const answer of answers) assert.equal((await answer.json()).request, null, answer.url());
  right(page);
});
