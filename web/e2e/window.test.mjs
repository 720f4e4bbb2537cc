// What the model can still read: the meter, what goes first, summaries, and what became of each message.
import assert from 'node:assert/strict';
import { test } from 'node:test';
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
  assert.equal(await page.locator('[data-summary=aside]').count(), 2);
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

test('what an edit, a mark or a prompt will cost is told before it is done', async () => {
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
  const asked = page.waitForRequest('**/preview');
  await page.route('**/preview', (route) => route.abort());
  await row.getByRole('button', { name: 'Pin to the context' }).focus();
  await asked;
  await row.getByRole('button', { name: 'Pin to the context' }).click();
  await row.getByRole('button', { name: 'Unpin from the context' }).waitFor();
  assert.equal((await recordOf(session))[2].marks.pinned, true);
  right(page);
});
