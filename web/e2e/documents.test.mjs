// Documents: what conversations produce, read, edited, compared and commented on.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { accessible, once, right, until } from './harness.mjs';
import { server, stage, tab } from './stage.mjs';

stage();

const document = (kind, name, content, fields = {}) => server.ask('POST', '/v1/artifacts', { kind, name, content, ...fields });
const versions = (id) => server.ask('GET', `/v1/artifacts/${id}/versions`).then((page) => page.data);

test('a document that an agent writes appears beside its conversation, and leads back to where it was written', async () => {
  const session = await server.session('Write an outline', { model: 'sim/document', tools: ['write_artifact', 'edit_artifact', 'read_artifact', 'list_artifacts'] });
  const page = await tab(`/c/${session.id}?panel=documents`);
  const drawer = page.getByRole('complementary', { name: 'Documents' });
  await drawer.locator('[data-document]').first().waitFor();
  await server.settled(session.id);
  await accessible(page, 'documents of a conversation');
  await drawer.locator('[data-document] a').first().click();
  await page.waitForURL(/\/documents\//);
  await page.locator('[data-content]').waitFor();
  await page.getByRole('link', { name: 'History' }).click();
  const [newest] = await versions(page.url().match(/documents\/([^?]+)/)[1]);
  await page.locator(`[data-version="${newest.number}"]`).getByRole('link', { name: 'Where it was written' }).click();
  await page.waitForURL(new RegExp(`/c/${session.id}\\?at=${newest.message_id}$`));
  right(page);
});

once('a document is made, written, compared and restored by hand; what is not saved survives a reload', async () => {
  const page = await tab('/documents');
  await page.getByRole('button', { name: 'New document' }).click();
  const dialog = page.getByRole('dialog');
  const name = `Outline ${crypto.randomUUID().slice(0, 8)}`;
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByRole('button', { name: 'Create and write' }).click();
  const text = page.getByRole('textbox', { name: `Text of ${name}` });
  await text.fill('# One\n\nIt begins.');
  await accessible(page, 'the editor');
  await page.reload();
  await text.getByText('It begins.').waitFor();
  await page.getByRole('button', { name: 'Save as version 2' }).click();
  await page.locator('[data-content]').getByRole('heading', { name: 'One' }).waitFor();
  assert.equal(await page.title(), `${name} – Parley`);
  await accessible(page, 'a document');

  await page.getByRole('link', { name: 'Edit', exact: true }).click();
  await text.fill('# One\n\nIt began.');
  await text.press('Control+s');
  await page.locator('[data-content]', { hasText: 'It began.' }).waitFor();
  await page.getByRole('link', { name: 'Changes' }).click();
  await page.getByRole('region', { name: 'Lines that changed' }).locator('strong', { hasText: 'began' }).waitFor();
  await accessible(page, 'what changed');
  await page.getByRole('link', { name: 'History' }).click();
  await page.getByRole('button', { name: 'Restore version 2' }).click();
  await page.getByText('restores version 2').waitFor();
  await accessible(page, 'the history');
  const id = page.url().match(/documents\/([^?]+)/)[1];
  assert.deepEqual((await versions(id)).map((one) => one.number), [4, 3, 2, 1]);
  assert.equal(await fetch(`${server.url}/v1/artifacts/${id}/content`).then((answer) => answer.text()), '# One\n\nIt begins.');
  right(page);
});

once('two who write at the same time lose nothing: the second sees the first and joins both', async () => {
  const { id, name } = await document('text', `List ${crypto.randomUUID().slice(0, 8)}`, 'one\n\ntwo\n\nthree\n');
  const page = await tab(`/documents/${id}?tab=edit`);
  const text = page.getByRole('textbox', { name: `Text of ${name}` });
  await text.fill('one\n\ntwo\n\nthree, mine\n');
  await server.ask('POST', `/v1/artifacts/${id}/versions`, { content: 'one, theirs\n\ntwo\n\nthree\n', base_version: 1 });
  await page.getByText('Version 2 was written meanwhile').waitFor();
  await page.getByRole('button', { name: 'Save as version 3' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByRole('button', { name: 'Replace it with mine' }).waitFor();
  await page.getByRole('button', { name: 'Join both' }).click();
  await page.locator('[data-content]', { hasText: 'one, theirs' }).getByText('three, mine').waitFor();
  await page.getByRole('link', { name: 'History' }).click();
  await page.locator('[data-version="3"]').getByText('began with version 1').waitFor();
  right(page);
});

once('JSON is written with the digits that somebody typed, and invalid JSON is refused before it is sent', async () => {
  const { id, name } = await document('json', `Numbers ${crypto.randomUUID().slice(0, 8)}`, { a: 1 });
  const page = await tab(`/documents/${id}?tab=edit`);
  const text = page.getByRole('textbox', { name: `Text of ${name}` });
  await text.fill('{"a": 12345678901234567890,');
  await page.getByRole('button', { name: 'Save as version 2' }).click();
  await page.getByRole('alert').filter({ hasText: 'This is not valid JSON' }).waitFor();
  await text.fill('{"a": 12345678901234567890}');
  await page.getByRole('button', { name: 'Save as version 2' }).click();
  await page.locator('[data-content]').waitFor();
  assert.equal(await fetch(`${server.url}/v1/artifacts/${id}/content`).then((answer) => answer.text()), '{"a":12345678901234567890}');
  await page.getByRole('link', { name: 'Changes' }).click();
  await page.getByText('/a', { exact: true }).waitFor();
  right(page);
});

once('HTML and drawings are shown, and do nothing: no script, no network, no way out of their frame', async () => {
  const heard = []; // requests that nothing kept back
  const outside = createServer((request, response) => {
    heard.push(`outside ${request.url}`);
    response.end();
  });
  await new Promise((resolve) => outside.listen(0, '127.0.0.1', resolve));
  after(() => outside.close());
  const other = `http://127.0.0.1:${outside.address().port}`;
  const listen = (page) => page.on('response', (response) => /from=/.test(response.url()) && heard.push(response.url()));
  const hostile = `<!doctype html><title>x</title><style>p { color: rgb(1, 2, 3) }</style><p>It is shown.</p>
<script>parent.document.title = 'taken'; document.body.append('ran')</script>
<img src="${server.url}/v1/agents?from=frame"><img src="${other}/outside">
<link rel="stylesheet" href="${server.url}/v1/agents?from=style"><iframe src="${server.url}/v1/agents?from=inner"></iframe>
<meta http-equiv="refresh" content="0; url=${other}/refresh"><a href="${other}/link" target="_top">out</a>
<form action="${other}/form"><button>send</button></form>`;
  const html = await document('html', 'Page.html', hostile);
  const page = await tab('/documents');
  listen(page);
  await page.goto(`${server.url}/documents/${html.id}`);
  const frame = page.frameLocator('iframe[title="Page.html"]');
  await frame.getByText('It is shown.').waitFor();
  assert.equal(await frame.locator('p').evaluate((one) => getComputedStyle(one).color), 'rgb(1, 2, 3)', 'its own styles hold');
  await frame.getByText('send').click({ noWaitAfter: true });
  await frame.getByText('out').click({ noWaitAfter: true });
  await accessible(page, 'a page in its frame');
  const svg = await document('svg', 'Drawing.svg', `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><circle r="9" cx="20" cy="20"/><script>parent.document.title = 'taken'</script><image href="${other}/picture"/></svg>`);
  const drawn = await tab('/documents');
  listen(drawn);
  await drawn.goto(`${server.url}/documents/${svg.id}`);
  await until(() => drawn.getByRole('img', { name: 'Drawing.svg' }).evaluate((one) => one.naturalWidth === 40).catch(() => false), 'the drawing is drawn');
  assert.deepEqual(heard, []);
  assert.equal(await page.title(), 'Page.html – Parley');
  assert.equal(await drawn.title(), 'Drawing.svg – Parley');
  assert.equal(new URL(page.url()).pathname, `/documents/${html.id}`);
});

test('a comment on a passage becomes a message in the conversation that wrote the document', async () => {
  const session = await server.session('Here is a plan');
  await server.settled(session.id);
  const { id, name } = await document('markdown', 'Plan', '# Plan\n\nFirst we walk.\n\nThen we rest.\n', { session_id: session.id });
  const page = await tab(`/documents/${id}`);
  await page.getByText('First we walk.').click({ clickCount: 3 });
  await page.getByRole('button', { name: 'Comment' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('First we walk.').waitFor();
  await accessible(page, 'a comment');
  await dialog.getByLabel('Comment').fill('Why not ride?');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await page.waitForURL(new RegExp(`/c/${session.id}$`));
  const said = (await server.settled(session.id)).findLast((one) => one.role === 'user').content.text;
  assert.equal(said, `About “${name}”, version 1, line 3:\n\n> First we walk.\n\nWhy not ride?`);
  right(page);
});

once('lists are narrowed, and follow what happens elsewhere; a table has its rows; all of it fits on a phone', async () => {
  const word = crypto.randomUUID().slice(0, 8);
  const table = await document('csv', `Prices ${word}`, 'what,price\n"tea, green",3\n', { labels: ['shop'] });
  const page = await tab(`/documents?name=${word}`);
  const row = page.locator(`[data-document="${table.id}"]`);
  await row.getByText('shop').waitFor();
  await page.getByLabel('Kind').selectOption('JSON');
  await page.getByText('No document matches.').waitFor();
  await page.getByLabel('Kind').selectOption('Table');
  await row.waitFor();
  await accessible(page, 'the documents');
  await server.ask('POST', `/v1/artifacts/${table.id}/versions`, { content: 'what,price\n"tea, green",4\n', base_version: 1 });
  await row.getByText('version 2').waitFor();
  const phone = await tab(`/documents/${table.id}`, { viewport: { width: 390, height: 800 }, colorScheme: 'dark' });
  await phone.getByRole('cell', { name: 'tea, green' }).waitFor();
  await accessible(phone, 'a table on a phone in the dark');
  assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'it fits on a phone');
  await phone.getByRole('button', { name: 'More' }).click();
  await phone.getByRole('menuitem', { name: 'Archive' }).click();
  await phone.getByText('archived', { exact: true }).waitFor();
  await row.waitFor({ state: 'detached' });
  right(page);
  right(phone);
});

test('a file is shown as its picture, or can be downloaded; it is compared by what it is, and not edited', async () => {
  const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const made = await document('file', 'dot.png', dot);
  const page = await tab(`/documents/${made.id}`);
  const picture = page.getByRole('img', { name: 'dot.png' });
  await picture.waitFor();
  await until(() => picture.evaluate((img) => img.complete && img.naturalWidth === 1), 'the picture is drawn');
  await accessible(page, 'a file');
  assert.equal(await page.getByRole('link', { name: 'Edit', exact: true }).count(), 0);
  await server.ask('POST', `/v1/artifacts/${made.id}/versions`, { base_version: 1, content: Buffer.from('%PDF-1.7\n').toString('base64') });
  await page.getByText('application/pdf').waitFor();
  assert.equal(await page.getByRole('link', { name: 'Download' }).getAttribute('href'), `/v1/artifacts/${made.id}/content?version=2`);
  await page.getByRole('link', { name: 'Changes' }).click();
  await page.getByText('image/png').waitFor();
  right(page);
});
