// The inbox: what agents that work on their own have for a person. No scenario leaves anything unread or undecided:
// on a shared database the next one counts what waits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, once, right, until } from './harness.mjs';
import { server, stage, tab } from './stage.mjs';

stage();

const name = (word) => `${word} ${crypto.randomUUID().slice(0, 8)}`;
const call = (tool, args) => ({ tool_call: { name: tool, arguments: args } });
const agent = (word, fields = {}) => server.ask('POST', '/v1/agents', { name: name(word), model: 'sim/script', ...fields });

// works gives an agent a task that is a script of the simulator.
const works = ({ id }, steps) => server.ask('POST', `/v1/agents/${id}/tasks`, { text: JSON.stringify(steps) });

// lately returns the newest item of an agent, once there is one.
async function lately({ id }) {
  let found;
  await until(async () => (found = (await server.ask('GET', `/v1/inbox?agent=${id}`)).data[0]), 'an item arrives');
  return found;
}

test('a briefing arrives while one looks, is read, and leads to its source and to the work behind it', async () => {
  const lead = await agent('Editor');
  await agent('Scout', { lead_id: lead.id });
  const { id: background } = await server.ask('GET', `/v1/agents/${lead.id}/background`);
  const page = await tab(`/inbox?agent=${lead.id}&unread=true`);
  await page.getByText('No item matches.').waitFor();
  await works(lead, [[call('create_inbox_item', { title: 'The **old** lamp', summary: 'It burns by itself.', text: `Nobody lights it: **truly** [${background}:1].` })], [{ text: 'Told.' }]]);
  const item = page.locator('[data-item]');
  await item.getByText('It burns by itself.').waitFor();
  await page.getByRole('link', { name: 'Inbox 1' }).waitFor();
  await until(async () => (await page.title()) === '(1) Inbox – Parley', 'the tab counts it');
  await accessible(page, 'the inbox');
  await item.getByRole('button', { name: /The old lamp/ }).click();
  await item.locator('.prose-chat strong', { hasText: 'truly' }).waitFor();
  await until(async () => (await page.title()) === 'Inbox – Parley', 'it is read');
  await item.getByText('New', { exact: true }).waitFor({ state: 'detached' }); // and stays open, unread no more
  await accessible(page, 'an open briefing');

  await item.getByRole('link', { name: 'Source: message 1' }).click();
  await page.waitForURL(new RegExp(`/c/${background}\\?at=1$`));
  await page.goBack();
  await item.locator('.prose-chat strong').waitFor(); // the address remembers what was open
  const { source_session_id, source_message_id, session_id, message_id } = await lately(lead);
  assert.equal(source_session_id, background);
  for (const [link, session, message, text] of [['See the work behind it', source_session_id, source_message_id, 'create_inbox_item'], ['Open the conversation', session_id, message_id, 'Nobody lights it']]) {
    await item.getByRole('link', { name: link }).click();
    await page.waitForURL(new RegExp(`/c/${session}\\?at=${message}$`));
    await page.locator('main').getByText(text).first().waitFor();
    await page.goBack();
  }

  await item.getByRole('button', { name: 'Mark as unread' }).click();
  await page.getByRole('link', { name: 'Inbox 1' }).waitFor();
  await item.getByRole('button', { name: /The old lamp/ }).click();
  await page.getByRole('link', { name: 'Inbox', exact: true }).waitFor();
  const phone = await tab(`/inbox?item=${(await lately(lead)).id}`, { viewport: { width: 390, height: 800 }, colorScheme: 'dark' });
  await phone.locator('.prose-chat strong').waitFor();
  assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'it fits on a phone');
  await accessible(phone, 'a briefing on a phone in the dark');
  right(phone);
  right(page);
});

once('a question is answered in the inbox, and the agent goes on with the answer', async () => {
  const asks = await agent('Farmer');
  await works(asks, [[call('request_input', { question: 'Which **field** first?' })], [{ text: 'I have asked.' }]]);
  const { id } = await lately(asks);
  const page = await tab(`/inbox?item=${id}`); // the address alone opens it
  const item = page.locator(`[data-item="${id}"]`);
  await item.locator('.prose-chat strong', { hasText: 'field' }).waitFor();
  await item.getByText('Waits for you').waitFor();
  await accessible(page, 'an open question');
  await item.getByLabel('Your answer').fill('The northern one.');
  await item.getByRole('button', { name: 'Answer', exact: true }).click();
  await item.getByText('Answered', { exact: true }).waitFor();
  assert.equal(await item.getByLabel('Your answer').count(), 0);
  const { id: background } = await server.ask('GET', `/v1/agents/${asks.id}/background`);
  await until(async () => (await server.ask('GET', `/v1/sessions/${background}/messages?role=user&limit=50`)).data.some(({ content }) => content.text?.includes('The northern one.')), 'the agent is told');
  await until(async () => (await server.ask('GET', `/v1/inbox/${id}`)).read_at !== null, 'it is read');
  right(page);
});

once('a call of background work is approved in the inbox, and asked about only there', async () => {
  const careful = await agent('Clock', { tools: ['current_time'], grants: [{ tool: 'current_time', effect: 'ask' }] });
  await works(careful, [[call('current_time', {})], [{ text: 'It is late.' }]]);
  const { id } = await lately(careful);
  const page = await tab(`/inbox?agent=${careful.id}`);
  const item = page.locator(`[data-item="${id}"]`);
  await item.getByRole('button', { expanded: false }).click();
  await item.getByText('May current_time run with exactly these arguments?').waitFor();
  assert.equal(await page.locator('[data-approval]').count(), 1);
  await page.getByRole('link', { name: 'Inbox 1' }).waitFor(); // read, but not decided
  await accessible(page, 'an open approval');
  await item.getByRole('button', { name: 'Approve once' }).click();
  await item.getByText('was approved.').waitFor();
  await item.getByText('Answered', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Inbox', exact: true }).waitFor();
  await item.getByRole('link', { name: 'See the work behind it' }).click();
  await page.getByText('It is late.', { exact: true }).waitFor();
  right(page);
});

once('a scheduled run that fails raises an alert, which says why and leads to what failed', async () => {
  const careless = await agent('Keeper', { model: 'sim/fail-auth-9' });
  const page = await tab(`/inbox?type=alert&agent=${careless.id}`);
  await page.getByText('No item matches.').waitFor();
  await server.ask('POST', '/v1/schedules', { agent_id: careless.id, name: 'Night watch', message: 'Wind the lamp.', at: new Date(Date.now() + 1000).toISOString() });
  const item = page.locator('[data-item]');
  await item.getByText('A scheduled run failed: Night watch').waitFor();
  await item.getByRole('img', { name: 'Alert' }).waitFor();
  await item.getByText('Alert', { exact: true }).waitFor();
  await item.getByText(/The model's provider refused the credentials/).waitFor();
  await page.getByRole('link', { name: 'Inbox 1' }).waitFor();
  await item.getByRole('button', { expanded: false }).click();
  await item.locator('.prose-chat', { hasText: 'Wind the lamp.' }).waitFor(); // what it was about
  await page.getByRole('link', { name: 'Inbox', exact: true }).waitFor();
  await accessible(page, 'an open alert');
  assert.equal(await item.getByRole('link', { name: 'Open the conversation' }).count(), 0, 'it has no conversation but the work itself');
  const { id: background } = await server.ask('GET', `/v1/agents/${careless.id}/background`);
  const { message_id } = await lately(careless);
  await item.getByRole('link', { name: 'See the work behind it' }).click();
  await page.waitForURL(new RegExp(`/c/${background}\\?at=${message_id}$`));
  await page.locator('.sought', { hasText: 'Wind the lamp.' }).waitFor();
  await page.locator('main').getByText('simulated auth failure').waitFor();
  right(page);
});
