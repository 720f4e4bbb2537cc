// Teams: who works on what, who waits for whom, and when they work by themselves.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { accessible, once, open, right, Server, until } from './harness.mjs';
import { chrome, server, stage, tab } from './stage.mjs';

stage();

const SLOW = 'sim/lorem-600-1000'; // answers for ten minutes, unless it is stopped

async function team() {
  const word = crypto.randomUUID().slice(0, 8);
  const lead = await server.ask('POST', '/v1/agents', { name: `Editor ${word}`, description: 'Leads the desk.', model: 'sim/script' });
  const scout = await server.ask('POST', '/v1/agents', { name: `Scout ${word}`, model: SLOW, lead_id: lead.id });
  return { lead, scout };
}

once('without a team, the page says how to begin with one', async () => {
  const page = await tab('/team');
  await page.getByText('No teams yet.').waitFor();
  await page.getByText('parley team example').waitFor();
  await accessible(page, 'no teams');
  const lead = await server.ask('POST', '/v1/agents', { name: 'Editor' });
  const scout = await server.ask('POST', '/v1/agents', { name: 'Scout' });
  await page.goto(`${server.url}/agents/${scout.id}`);
  await page.getByRole('combobox', { name: 'Lead' }).selectOption('Editor');
  await page.getByRole('button', { name: 'Save as version 2' }).click();
  await page.getByText(/version 2,/).waitFor();
  await page.getByRole('link', { name: 'Teams' }).click();
  await page.locator(`[data-team="${lead.slug}"]`).getByText('Scout').waitFor();
  right(page);
});

test('a task is given, handed on and cancelled, and the pages of the team show it as it happens', async () => {
  const { lead, scout } = await team();
  const page = await tab('/team');
  const card = page.locator(`[data-team="${lead.slug}"]`);
  await card.getByText(scout.name).waitFor();
  await card.getByRole('link', { name: lead.name, exact: true }).click();
  await page.getByText('Nothing was handed over yet.').waitFor();
  assert.equal(await page.title(), `${lead.name} – Teams – Parley`);
  await accessible(page, 'a new team');

  await page.getByRole('button', { name: `Give ${lead.name} a task` }).click();
  const steps = [[{ tool_call: { name: 'delegate_to_agent', arguments: { agent: scout.slug, task: 'Look at the **lamp**.\n\nThoroughly.' } } }], [{ text: 'It is at work.' }], [{ text: 'So be it.' }]];
  await page.getByLabel('Task', { exact: true }).fill(JSON.stringify(steps));
  await page.getByRole('button', { name: 'Give the task' }).click();
  await page.getByRole('link', { name: 'Watch it' }).waitFor();

  const row = page.locator('[data-delegation]');
  await row.getByText('At work').waitFor();
  const waits = page.locator(`[data-member="${lead.slug}"]`).getByText(`Waits for ${scout.name}: task “Look at the lamp.”`);
  await waits.waitFor();
  await page.locator(`[data-member="${scout.slug}"]`).getByText('Running: Look at the lamp.').waitFor();
  const [delegation] = (await server.ask('GET', `/v1/delegations?agent=${scout.id}`)).data;
  await row.getByRole('button', { expanded: false }).click();
  await row.locator('.prose-chat strong', { hasText: 'lamp' }).waitFor();
  await accessible(page, 'a team at work');
  const phone = await tab(`/team/${lead.slug}`, { viewport: { width: 390, height: 800 }, colorScheme: 'dark' });
  await phone.locator('[data-delegation]').waitFor();
  assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'it fits on a phone');
  await accessible(phone, 'a team at work on a phone in the dark');
  right(phone);

  const overview = await tab('/team');
  await overview.locator(`[data-team="${lead.slug}"]`).getByText(`Waits for ${scout.name}`).waitFor();
  await accessible(overview, 'the teams');
  await row.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Cancel the delegation' }).click();
  await row.getByText('Cancelled').waitFor();
  await waits.waitFor({ state: 'detached' });
  await overview.locator(`[data-team="${lead.slug}"]`).getByText(`Waits for ${scout.name}`).waitFor({ state: 'detached' });
  await row.getByRole('link', { name: 'Where it arrived' }).click();
  await page.waitForURL(new RegExp(`/c/${delegation.to_session_id}\\?at=${delegation.message_id}$`));
  right(page);
  right(overview);
});

// provider answers every request to a model with prices, once it may, and counts a hundred thousand tokens.
async function provider() {
  let answer;
  const may = new Promise((resolve) => (answer = resolve));
  const web = createServer((request, response) => {
    request.resume().on('end', async () => {
      await may;
      const chunks = [{ choices: [{ index: 0, delta: { content: 'It burns.' }, finish_reason: 'stop' }] }, { choices: [], usage: { prompt_tokens: 100_000, completion_tokens: 0 } }];
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.end(`${chunks.map((one) => `data: ${JSON.stringify({ id: 'a', object: 'chat.completion.chunk', ...one })}\n\n`).join('')}data: [DONE]\n\n`);
    });
  });
  await new Promise((resolve) => web.listen(0, '127.0.0.1', resolve));
  const settings = {
    providers: [{ name: 'desk', kind: 'openai', base_url: `http://127.0.0.1:${web.address().port}/v1` }],
    models: [['dear', 2], ['cheap', 0.5]].map(([name, input]) => ({ id: `desk/${name}`, context_length: 1e6, max_output: 1000, tools: true, price: { input, output: 0 } })),
  };
  const end = () => {
    web.closeAllConnections();
    web.close();
  };
  return { settings, answer, end };
}

once('below a lead of a lead, the pages show who waits for whom, what was answered, what runs next, and what each member has cost', async (t) => {
  const desk = await provider();
  const own = await Server.with(desk.settings);
  t.after(async () => {
    await own.end();
    desk.end();
  });
  const agent = (name, model, lead_id) => own.ask('POST', '/v1/agents', { name, model, lead_id, draw_knowledge: false });
  const chief = await agent('Chief', 'sim/team'); // leads hand everything to everybody below them
  const editor = await agent('Editor', 'sim/team', chief.id);
  const [scout, clerk] = [await agent('Scout', 'desk/dear', editor.id), await agent('Clerk', 'desk/cheap', editor.id)];
  await own.ask('POST', '/v1/schedules', { agent_id: clerk.id, message: 'Wish us well.', cron: '30 7 1 1 *' });
  const context = await chrome.newContext({ viewport: { width: 1200, height: 800 }, timezoneId: 'UTC' });
  t.after(() => context.close());
  const [overview, page] = [await open(context, own, '/team'), await open(context, own, '/team/chief')];
  const line = (name) => overview.getByRole('listitem').filter({ has: overview.getByText(name, { exact: true }) }).last();
  await overview.getByText('$0 so far').waitFor();
  await line('Clerk').getByText(/Runs next Jan 1, .* 7:30:00/).waitFor();
  await own.ask('POST', `/v1/agents/${chief.id}/tasks`, { text: 'Look at the harbour.' });

  await line('Chief').getByText(/Waits for Editor$/).waitFor();
  await line('Editor').getByText(/Waits for (Scout, Clerk|Clerk, Scout)$/).waitFor();
  const below = (upper, lower) => `li:has(> [data-member=${upper}]) > div > ul > li > [data-member=${lower}]`;
  await page.locator(below('chief', 'editor')).getByText('Waits for Scout: task “Look at the harbour”').waitFor();
  for (const name of ['scout', 'clerk']) await page.locator(below('editor', name)).getByText('Running: Look at the harbour').waitFor();
  desk.answer();
  const row = (names) => page.locator('[data-delegation]', { hasText: names });
  for (const names of ['Editor to Scout', 'Editor to Clerk', 'Chief to Editor']) await row(names).getByText('Answered').waitFor();
  for (const [name, cost] of [['Chief', 0], ['Editor', 0], ['Scout', 0.2], ['Clerk', 0.05]]) await line(name).getByText(new RegExp(`^[$]${cost}(?![.\\d])`)).waitFor();
  await overview.getByText('$0.25 so far').waitFor();
  await page.locator('[data-member=scout]').getByText('1 work session · 100K tokens · $0.2').waitFor();
  await page.getByText('of Local owner; ').getByText('$0.25 so far').waitFor();
  await row('Editor to Scout').getByRole('button').click();
  await row('Editor to Scout').getByRole('link', { name: 'The answer' }).click();
  await page.locator('.sought', { hasText: 'It burns.' }).waitFor();
  right(page);
  right(overview);
});

once('a schedule shows its next times before it is made, and its history; it is paused, changed and deleted', async () => {
  const { lead, scout } = await team();
  const page = await tab(`/team/${lead.slug}`);
  await page.getByText('Nobody has a schedule.').waitFor();
  await page.getByRole('button', { name: 'New schedule' }).click();
  const dialog = page.getByRole('dialog');
  const times = dialog.getByRole('group', { name: 'Next times' }).locator('time');
  await until(async () => (await times.count()) === 5, 'the usual times show');
  await dialog.getByLabel('Cron').fill('0 25 * * *');
  await dialog.getByText(/hour/).last().waitFor();
  await until(async () => (await times.count()) === 0, 'a wrong time has none');
  await dialog.getByLabel('Cron').fill('30 7 1 1 *');
  await dialog.getByLabel('Time zone').fill('UTC');
  await until(async () => (await times.first().getAttribute('datetime'))?.includes('-01-01T07:30:00'), 'the times are those of the text');
  await dialog.getByRole('combobox', { name: 'Agent' }).selectOption({ label: scout.name });
  await dialog.getByLabel('Name').fill('New year');
  await dialog.getByLabel('Message').fill('Wish us well.');
  await accessible(page, 'the editor of a schedule');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  const row = page.locator('[data-schedule]');
  await row.getByText('30 7 1 1 * (UTC)').waitFor();
  await page.locator(`[data-member="${scout.slug}"]`).getByText('Runs next').waitFor();
  await row.getByRole('button', { name: 'History' }).click();
  await row.getByText('It has not run yet.').waitFor();
  await accessible(page, 'a schedule');

  await row.getByRole('button', { name: 'Pause' }).click();
  await row.getByText('Paused', { exact: true }).waitFor();
  await page.locator(`[data-member="${scout.slug}"]`).getByText('Runs next').waitFor({ state: 'detached' });
  await row.getByRole('button', { name: 'Edit' }).click();
  await dialog.getByLabel('When').selectOption('every');
  await dialog.getByRole('textbox', { name: /^Every/ }).fill('90m');
  await until(async () => (await times.count()) === 5, 'the other times show');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await row.getByText('every 90m').waitFor();
  const [stored] = (await server.ask('GET', `/v1/schedules?agent=${scout.id}`)).data;
  assert.deepEqual([stored.cron, stored.every, stored.message, stored.enabled], [null, '90m', 'Wish us well.', false]);

  const { id: background } = await server.ask('GET', `/v1/agents/${scout.id}/background`);
  await server.ask('PATCH', `/v1/sessions/${background}`, { archived: true });
  await server.ask('PATCH', `/v1/schedules/${stored.id}`, { every: null, at: new Date(Date.now() + 2000).toISOString(), enabled: true });
  await page.reload();
  await row.getByRole('button', { name: 'History' }).click();
  await row.getByText('skipped: the agent or its session was archived').waitFor(); // no event tells of it: the page looks
  await row.getByText(/^It is over. · last .*: skipped$/).waitFor();
  await row.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete the schedule' }).click();
  await page.getByText('Nobody has a schedule.').waitFor();
  right(page);
});

once('what others note, change and forget shows without a reload; what an agent noted leads to its source, and a procedure is approved', async () => {
  const { lead } = await team();
  const page = await tab(`/team/${lead.slug}`);
  await page.getByText('Nothing is known here yet.').waitFor();
  const made = await server.ask('POST', '/v1/knowledge', { agent_id: lead.id, scope: 'team', text: 'Nets dry by noon.' });
  const item = page.locator('[data-knowledge]');
  await item.getByText('Nets dry by noon.').waitFor();
  await server.ask('PATCH', `/v1/knowledge/${made.id}`, { text: 'Nets dry by night.' });
  await item.getByText('Nets dry by night.').waitFor();
  await server.ask('DELETE', `/v1/knowledge/${made.id}`);
  await item.getByText('forgotten').waitFor();

  const noted = [[{ tool_call: { name: 'remember', arguments: { text: 'Wind the lamp at dusk.', kind: 'procedure', team: true } } }], [{ text: 'Noted.' }]];
  await server.ask('POST', `/v1/agents/${lead.id}/tasks`, { text: JSON.stringify(noted) });
  const procedure = item.filter({ hasText: 'Wind the lamp at dusk.' });
  await procedure.getByText('Not used until you approve it').waitFor();
  await accessible(page, 'a procedure to approve');
  await procedure.getByRole('button', { name: 'Approve' }).click();
  await procedure.getByText('Not used until you approve it').waitFor({ state: 'detached' });
  const [stored] = (await server.ask('GET', `/v1/knowledge?team=${lead.slug}&kind=procedure`)).data;
  assert.deepEqual([stored.kind, stored.approved_at !== null, stored.sources.length], ['procedure', true, 1]);
  const [source] = stored.sources;
  await procedure.getByRole('link', { name: `Source: message ${source.sequence}` }).click();
  await page.waitForURL(new RegExp(`/c/${source.session_id}\\?at=${source.sequence}$`));
  await page.locator('.sought', { hasText: 'Wind the lamp at dusk.' }).waitFor();
  right(page);
});

once('what a team knows is listed, pinned, forgotten, written and edited', async () => {
  const { lead, scout } = await team();
  await server.ask('POST', '/v1/knowledge', { agent_id: lead.id, scope: 'team', text: 'The lamp burns until dawn.' });
  await server.ask('POST', '/v1/knowledge', { agent_id: scout.id, text: 'Gulls sleep at noon.' });
  const page = await tab(`/team/${lead.slug}`);
  const item = page.locator('[data-knowledge]');
  await item.getByText('The lamp burns until dawn.').waitFor();
  await item.getByRole('button', { name: 'Pin' }).click();
  await item.getByText('Pinned').waitFor();
  await accessible(page, 'what a team knows');
  await item.getByRole('button', { name: 'Forget' }).click();
  await item.getByText('forgotten').waitFor();
  await page.getByRole('combobox', { name: 'Who knows it' }).selectOption(scout.slug);
  await item.getByText('Gulls sleep at noon.').waitFor();
  await page.getByRole('button', { name: 'Write an item' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('combobox', { name: 'Kind' }).selectOption('Preference');
  await dialog.getByRole('textbox', { name: 'What is known' }).fill('Boats come on Mondays.');
  await accessible(page, 'an item that is being written');
  await dialog.getByRole('button', { name: 'Save' }).click();
  const boats = item.filter({ hasText: 'Boats come on' });
  await boats.getByText('preference').waitFor();
  await boats.getByRole('button', { name: 'Edit' }).click();
  await dialog.getByRole('textbox', { name: 'What is known' }).fill('Boats come on Sundays.');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await boats.getByText('Boats come on Sundays.').waitFor();
  const { data } = await server.ask('GET', `/v1/knowledge?agent=${scout.slug}`);
  assert.deepEqual(data.map((one) => [one.text, one.kind, one.scope]).sort(), [
    ['Boats come on Sundays.', 'preference', 'agent'],
    ['Gulls sleep at noon.', 'fact', 'agent'],
  ]);
  right(page);
});
