import assert from 'node:assert/strict';
import { accessible, browser, once, open, Server, until } from './harness.mjs';

once('the page asks for a key if the server requires one, and no script ever has it', async () => {
  const server = await Server.start();
  const chrome = await browser();
  try {
    const key = await server.ask('POST', '/v1/keys', { name: 'page', role: 'admin' });
    const context = await chrome.newContext();
    const page = await open(context, server, '/new');
    await page.getByText('Sign in to Parley').waitFor();
    await accessible(page, 'sign-in');
    await page.getByLabel('Key').fill('pk_wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('This key is unknown or revoked').waitFor();
    await page.getByLabel('Key').fill(key.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('What shall we talk about?').waitFor();
    const reachable = await page.evaluate(() => JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }, location.href]));
    assert.ok(!reachable.includes(key.key), 'a script can read the key');
    await page.fill('[data-composer]', 'With a key');
    await page.press('[data-composer]', 'Enter');
    await page.locator('.prose-chat', { hasText: 'With a key' }).waitFor();
    // Signing out affects every tab, and leaves nothing for the next person.
    await page.goto(`${server.url}/new`);
    await page.fill('[data-composer]', 'a secret of the admin');
    const other = await open(context, server, new URL(page.url()).pathname);
    await other.getByRole('link', { name: 'With a key' }).click();
    await other.locator('.prose-chat', { hasText: 'With a key' }).waitFor();
    const visitor = await (await fetch(`${server.url}/v1/keys`, { method: 'POST', headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key.key}` }, body: JSON.stringify({ name: 'visitor', role: 'member' }) })).json();
    const streams = async () => {
      const answer = await fetch(`${server.url}/metrics`, { headers: { Authorization: `Bearer ${key.key}` } });
      const found = [...(await answer.text()).matchAll(/^parley_watchers(?:\{[^}]*\})? (\d+)/gm)];
      assert.ok(found.length > 0, 'the server tells its streams');
      return found.reduce((sum, [, count]) => sum + Number(count), 0);
    };
    await until(async () => (await streams()) > 0, 'both tabs follow');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('Sign in to Parley').waitFor();
    await other.getByText('Sign in to Parley').waitFor();
    await until(async () => (await streams()) === 0, 'the streams end with the sign-in');
    await page.getByLabel('Key').fill(visitor.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('visitor').waitFor();
    assert.equal(await page.inputValue('[data-composer]'), '');
    await other.getByText('visitor').waitFor();
    assert.equal(await other.getByText('With a key').count(), 0);
  } finally {
    await chrome.close();
    await server.end();
  }
});

once('the first key is shown to its maker, who copies it and signs in with it; revoking asks', async () => {
  const server = await Server.start();
  const chrome = await browser();
  try {
    const context = await chrome.newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
    const page = await open(context, server, '/settings/keys');
    await page.getByText('Nobody needs a key yet.').waitFor();
    assert.equal(await page.getByLabel('Role').inputValue(), 'admin');
    await page.getByLabel('Name').fill('mine');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('heading', { name: 'Your first key' }).waitFor();
    await accessible(page, 'the first key');
    const key = await page.getByLabel('The new key').innerText();
    await until(async () => (await fetch(`${server.url}/v1/agents`)).status === 401, 'the server asks for a key');
    assert.ok(await page.getByLabel('The new key').isVisible(), 'it is still shown once requests are refused');
    await page.getByRole('button', { name: 'Copy' }).click();
    await until(async () => (await page.evaluate(() => navigator.clipboard.readText())) === key, 'it is copied');
    await page.getByRole('button', { name: 'Sign in with it' }).click();
    await page.getByRole('button', { name: 'Revoke mine' }).waitFor();
    assert.ok(!(await page.content()).includes(key), 'it is shown once');
    await page.getByRole('button', { name: 'Revoke mine' }).click();
    await page.getByText('It is yours').waitFor();
    await page.getByRole('button', { name: 'Keep it' }).click();
    await page.getByLabel('Name').fill('other');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByText('Copy it now').waitFor();
    await page.getByRole('button', { name: 'Revoke other' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByText('revoked', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Revoke mine' }).waitFor();
  } finally {
    await chrome.close();
    await server.end();
  }
});
