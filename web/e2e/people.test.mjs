// Several people on one server: changes that others must accept, calls that need two
// approvers, signed-in browsers, and the limits of a member.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before } from 'node:test';
import { accessible, browser, once, open, right, Server, until } from './harness.mjs';

let chrome;
before(async () => (chrome = await browser()));
after(() => chrome?.close());

// Keys belong to the whole database: these scenarios run where each has its own.
async function withPeople(scenario) {
  const server = await Server.start();
  const contexts = [];
  try {
    const admin = (await server.ask('POST', '/v1/keys', { name: 'admin', role: 'admin' })).key;
    const people = { admin };
    for (const name of ['ada', 'ben']) people[name] = (await server.ask('POST', '/v1/keys', { name, role: 'member' }, by(admin))).key;
    // as signs a person in, in a browser of their own; signin.test.mjs does it through the page.
    const as = async (key, address, options = {}) => {
      const context = await chrome.newContext({ viewport: { width: 1200, height: 800 }, ...options });
      contexts.push(context);
      const signed = await context.request.post(`${server.url}/v1/sign-in`, { data: { key } });
      assert.ok(signed.ok(), `signing in: ${signed.status()}`);
      const refused = [];
      context.on('response', (response) => response.status() === 403 && refused.push(response.url()));
      const page = await open(context, server, address);
      page.refused = refused;
      return page;
    };
    await scenario(server, people, as);
  } finally {
    for (const context of contexts) await context.close();
    await server.end();
  }
}

const by = (key) => ({ Authorization: `Bearer ${key}` });
const TIME = JSON.stringify([[{ tool_call: { name: 'current_time', arguments: {} } }], [{ text: 'It is late.' }]]);

once('a change by somebody else needs approval: once, or accepted for the conversation', async () => {
  await withPeople(async (server, { ada, ben }, as) => {
    const agent = await server.ask('POST', '/v1/agents', { name: 'Clock', model: 'sim/script', tools: ['current_time'], grants: [{ tool: 'current_time', effect: 'ask' }] }, by(ada));
    const session = await server.ask('POST', '/v1/sessions', { agent_id: agent.id, visibility: 'workspace' }, by(ben));
    await server.ask('PATCH', `/v1/agents/${agent.id}`, { grants: [{ tool: 'current_time', effect: 'allow' }] }, by(ada));
    const page = await as(ben, `/c/${session.id}`);
    const says = async (times) => {
      await page.fill('[data-composer]', TIME);
      await page.press('[data-composer]', 'Enter');
      await until(async () => (await page.getByText('It is late.', { exact: true }).count()) >= times || (await page.getByText('May current_time run').count()) > 0, 'the turn goes on');
    };
    await says(1);
    const card = page.locator('[data-approval]');
    await card.getByText('“Approve once” approves only this call.').waitFor();
    const accept = card.getByRole('button', { name: 'Accept for this conversation' });
    await accept.waitFor();
    assert.equal(await card.getByRole('button', { name: 'Always in this conversation' }).count(), 0);
    await accessible(page, 'a question about a change');
    // People who do not own the conversation may approve once, and are offered no more.
    const other = await as(ada, `/c/${session.id}`);
    await other.getByRole('button', { name: 'Approve once' }).waitFor();
    await other.getByText('Only the owner of the conversation can accept the change.').waitFor();
    assert.equal(await other.getByRole('button', { name: 'Accept for this conversation' }).count(), 0);
    await card.getByRole('button', { name: 'Approve once' }).click();
    await page.getByText('It is late.', { exact: true }).waitFor();
    await says(2);
    await accept.click();
    await until(async () => (await page.getByText('It is late.', { exact: true }).count()) === 2, 'it runs once it is accepted');
    await says(3);
    await until(async () => (await page.getByText('It is late.', { exact: true }).count()) === 3, 'what was accepted asks no more');
    assert.equal(await card.count(), 0);
    right(page);
  });
});

once('a call that needs two approvals says who has approved, and waits for the other', async () => {
  await withPeople(async (server, { ada, ben }, as) => {
    const agent = await server.ask('POST', '/v1/agents', { name: 'Careful', model: 'sim/script', tools: ['current_time'], grants: [{ tool: 'current_time', effect: 'ask', approvers: 2 }] }, by(ada));
    const session = await server.ask('POST', '/v1/sessions', { agent_id: agent.id, visibility: 'workspace' }, by(ben));
    await server.ask('POST', `/v1/sessions/${session.id}/messages`, { content: { text: TIME } }, by(ben));
    const [page, other] = [await as(ben, `/c/${session.id}`), await as(ada, '/inbox')];
    await page.getByText('0 of 2 approved.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Always in this conversation' }).count(), 0);
    await other.getByText('0 of 2 approved.').waitFor();
    await other.getByRole('button', { name: 'Approve once' }).click();
    await page.getByText('1 of 2 approved: ada.').waitFor();
    await until(() => other.getByRole('button', { name: 'You approved' }).isDisabled(), 'who said yes may say it again');
    await accessible(page, 'one of two approved');
    await accessible(other, 'the inbox with one of two approved');
    assert.equal(await page.getByText('It is late.', { exact: true }).count(), 0);
    await page.getByRole('button', { name: 'Approve once' }).click();
    await page.getByText('It is late.', { exact: true }).waitFor();
    for (const one of [page, other]) right(one);
  });
});

once('agents show their owners, and others may look at them', async () => {
  await withPeople(async (server, { ada, ben }, as) => {
    const agent = await server.ask('POST', '/v1/agents', { name: 'Adas', system_prompt: 'Be kind.', tools: ['current_time'] }, by(ada));
    const page = await as(ben, '/agents');
    await page.getByRole('link', { name: /Adas/ }).getByText('of ada').waitFor();
    await accessible(page, 'agents of several people');
    await page.getByRole('link', { name: /Adas/ }).click();
    await page.getByText('Owned by ada, version 1').waitFor();
    await page.getByText('Only its owner and admins can change this agent.').waitFor();
    await page.getByRole('link', { name: 'Talk to it' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Archive' }).count(), 0);
    await accessible(page, 'an agent of somebody else');
    const own = await as(ada, `/agents/${agent.id}`);
    await own.getByLabel('Description').fill('Of mine.');
    await own.getByRole('button', { name: 'Save as version 2' }).click();
    await own.getByText('Owned by ada, version 2').waitFor();
    for (const one of [page, own]) right(one);
    assert.deepEqual([...page.refused, ...own.refused], []);
  });
});

once('a member who may not choose directories is told so, and offered none', async () => {
  await withPeople(async (server, { ben }, as) => {
    const page = await as(ben, '/projects');
    await page.getByText('No directories are set for projects on this server').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Add a directory' }).count(), 0);
    await accessible(page, 'projects of who may not choose directories');
    await page.goto(`${server.url}/new`);
    await page.getByLabel('Project').waitFor();
    await page.getByText('ben', { exact: true }).waitFor();
    assert.deepEqual(await page.getByLabel('Project').locator('option').allInnerTexts(), ['No project']);
    assert.deepEqual(page.refused, []);
    // The server's own user, signed in with its token, may choose.
    const own = await as(readFileSync(path.join(server.data, 'token'), 'utf8').trim(), '/projects');
    await own.getByRole('button', { name: 'Add a directory' }).waitFor();
    await own.getByRole('button', { name: 'Sign out' }).waitFor();
    for (const one of [page, own]) right(one);
  });
});

once('an admin chooses who sees new conversations; others are told', async () => {
  await withPeople(async (server, { admin, ben }, as) => {
    const visibilityOf = async () => (await server.ask('POST', '/v1/sessions', {}, by(ben))).visibility;
    assert.equal(await visibilityOf(), 'private');
    const page = await as(ben, '/settings/workspace');
    await page.getByText('Admins of the workspace can change it.').waitFor();
    assert.ok(await page.getByRole('radio', { name: /^Everybody/ }).isDisabled());
    const own = await as(admin, '/settings/workspace');
    await own.getByRole('radio', { name: /^Everybody/ }).check();
    await until(async () => (await visibilityOf()) === 'workspace', 'new conversations follow');
    await accessible(own, 'the workspace');
    await page.reload();
    await until(() => page.getByRole('radio', { name: /^Everybody/ }).isChecked(), 'a member sees what holds');
    for (const one of [page, own]) right(one);
    assert.deepEqual([...page.refused, ...own.refused], []);
  });
});

once('signed-in browsers are listed, and can be signed out from another one', async () => {
  await withPeople(async (server, { ben }, as) => {
    const [page, away] = [await as(ben, '/settings/keys'), await as(ben, '/new')];
    const list = page.getByRole('region', { name: 'Signed-in browsers' }).getByRole('listitem');
    await page.reload();
    await until(async () => (await list.count()) === 2);
    assert.equal(await list.filter({ hasText: 'this browser' }).count(), 1);
    await accessible(page, 'signed-in browsers');
    await list.filter({ hasNotText: 'this browser' }).getByRole('button', { name: /^End/ }).click();
    await until(async () => (await list.count()) === 1, 'it is gone from the list');
    await away.getByText('Sign in to Parley').waitFor();
    await list.getByRole('button', { name: /^End/ }).click();
    await page.getByText('Sign in to Parley').waitFor();
    for (const one of [page, away]) right(one);
  });
});

once('a server that admits everybody on its machine says so on every page', async () => {
  const server = await Server.start('--insecure-local');
  const context = await chrome.newContext({ viewport: { width: 1200, height: 800 } });
  try {
    const session = await server.session('Hello');
    const page = await open(context, server, '/new');
    for (const address of ['/new', `/c/${session.id}`, `/c/${session.id}/inspect`, '/search', '/inbox', '/team', '/agents', '/projects', '/usage', '/audit', '/settings/keys', '/nowhere']) {
      await page.goto(server.url + address);
      await page.getByRole('navigation', { name: 'Conversations' }).waitFor();
      const note = page.getByRole('region', { name: 'Notice' });
      assert.match(await note.innerText(), /every user of this machine can do everything/);
      const { x, y, width, height } = await note.boundingBox();
      assert.ok(x === 0 && y === 0 && width === 1200 && height > 10, `it is in sight at ${address}`);
      assert.equal((await page.locator('main').boundingBox()).y, height, `it covers nothing at ${address}`);
      assert.equal(await page.evaluate(() => document.documentElement.scrollHeight), 800, `the page fits below it at ${address}`);
      if (address === '/new' || address === '/settings/keys') await accessible(page, `a notice at ${address}`);
    }
    right(page);
  } finally {
    await context.close();
    await server.end();
  }
});

once('a one-time code that was used or has expired leads to a page with a sentence', async () => {
  const server = await Server.start();
  const context = await chrome.newContext();
  try {
    const page = await open(context, server, '/sign-in?code=0123456789abcdef0123456789abcdef');
    await page.getByRole('heading', { name: 'Not signed in' }).waitFor();
    await page.getByText('This code has been used or has expired.').waitFor();
    await accessible(page, 'a used code');
    await page.getByRole('link', { name: 'To the page' }).click();
    await page.getByText('What shall we talk about?').waitFor();
    right(page);
  } finally {
    await context.close();
    await server.end();
  }
});
