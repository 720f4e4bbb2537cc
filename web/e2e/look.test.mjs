// Directories, what a model sees, the inspector, and what was used.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { accessible, browser, open, right, Server, until } from './harness.mjs';

let server, chrome, context;

// home is the one directory that projects may lie in.
const home = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-home-')));
process.env.PARLEY_PROJECT_ROOTS = home;

before(async () => {
  [server, chrome] = await Promise.all([Server.start(), browser()]);
});
after(async () => {
  await chrome?.close();
  await server?.end();
  rmSync(home, { recursive: true, force: true });
});
afterEach(() => context?.close());

async function tab(address, options = {}) {
  context = await chrome.newContext({ viewport: { width: 1200, height: 800 }, ...options });
  return open(context, server, address);
}

// What no database has a part in is played on one of them alone.
const once = process.env.PARLEY_DATABASE_URL ? () => undefined : test;

once('a directory is found by keys alone, and becomes a project', async () => {
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
  await page.getByText('There is no directory "/" within those allowed').waitFor();
  await page.getByRole('button', { name: 'Use /' }).click();
  await page.getByRole('alert').getByText('lies outside the directories allowed').waitFor();
  await page.getByLabel('Path').fill(path.join(home, 'work'));
  await page.getByRole('button', { name: 'Use work' }).click();
  await until(async () => (await page.getByLabel('Project').locator('option:checked').innerText()) === 'work', 'it is chosen');
  await page.goto(`${server.url}/projects`);
  await page.getByRole('link', { name: /work/ }).waitFor();
  await page.getByRole('button', { name: 'Add a directory' }).click();
  await page.getByRole('option', { name: /work/ }).getByText('project').waitFor();
  right(page);
});

test('what the next call sees is shown to the byte, and follows the conversation', async () => {
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
  await panel.getByText('No message is.').waitFor();
  await say('fünf');
  await panel.getByRole('button', { name: /#10 / }).waitFor();
  await panel.getByRole('button', { name: 'Clear context' }).click();
  await panel.getByText('cleared: the window begins with the next message').first().waitFor();
  await accessible(page, 'the context');
  right(page);
});
