// Documents: what conversations produce, read, edited, compared and commented on.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { homedir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { accessible, once, right, until } from './harness.mjs';
import { server, stage, tab } from './stage.mjs';

stage();

const document = (kind, name, content, fields = {}) => server.ask('POST', '/v1/artifacts', { kind, name, content, ...fields });
const versions = (id) => server.ask('GET', `/v1/artifacts/${id}/versions`).then((page) => page.data);

const TOOLS = ['write_artifact', 'edit_artifact', 'read_artifact', 'list_artifacts'];
const calls = (name, args) => [{ tool_call: { name, arguments_text: JSON.stringify(args) } }];
const slowly = (name, args) => calls(name, args).map((one) => ({ ...one, split: 10, token_ms: 80 }));
const script = (...steps) => JSON.stringify([...steps, [{ text: 'So be it.' }]]);
const ASKS = ['write_artifact', 'edit_artifact'].map((tool) => ({ tool, effect: 'ask' }));
const SLOW = 1_000; // of what takes too long for anybody to wait

// open opens a conversation that rests: what it writes then is seen from the beginning.
async function open(fields = {}) {
  const session = await server.session(script(), { model: 'sim/script', tools: TOOLS, ...fields });
  await server.settled(session.id);
  const page = await tab(`/c/${session.id}`, { viewport: { width: 1500, height: 900 } }); // the document stands beside the conversation
  await page.getByText('So be it.').first().waitFor();
  return { session, page };
}

// approve approves the call that waits.
async function approve(session) {
  let waits = [];
  await until(async () => (waits = (await server.ask('GET', `/v1/sessions/${session.id}/approvals?status=pending`)).data).length > 0, 'a call waits for approval');
  await server.ask('POST', `/v1/approvals/${waits[0].id}`, { decision: 'approve' });
}
const say = (session, text) => server.ask('POST', `/v1/sessions/${session.id}/messages`, { role: 'user', content: { text } });

once('a document that an agent writes appears beside its conversation, and leads back to where it was written', async () => {
  const session = await server.session('Write an outline', { model: 'sim/document', tools: TOOLS });
  const page = await tab(`/c/${session.id}?panel=documents`);
  const drawer = page.getByRole('complementary', { name: 'Documents' });
  await drawer.locator('[data-document]').first().waitFor();
  await server.settled(session.id);
  await accessible(page, 'documents of a conversation');
  await drawer.locator('[data-document] a').first().click();
  await drawer.getByRole('heading', { name: 'Write an outline' }).first().waitFor();
  await accessible(page, 'a document beside its conversation');
  await drawer.getByRole('link', { name: 'Open', exact: true }).click();
  await page.waitForURL(/\/documents\//);
  await page.locator('[data-content]').waitFor();
  await page.getByRole('link', { name: 'History' }).click();
  const [newest] = await versions(page.url().match(/documents\/([^?]+)/)[1]);
  await page.locator(`[data-version="${newest.number}"]`).getByRole('link', { name: 'Where it was written' }).click();
  await page.waitForURL(new RegExp(`/c/${session.id}\\?at=${newest.message_id}$`));
  right(page);
});

test('a document fills in beside its conversation while it is written, and keeps what it has drawn', async () => {
  const { session, page } = await open();
  const content = `# Report\n\n${Array.from({ length: SLOW }, (_, i) => `Sentence ${i + 1}.`).join('\n\n')}\n`;
  await say(session, script(slowly('write_artifact', { name: 'Report', kind: 'markdown', content })));
  await page.locator('[data-opens]').click();
  await page.waitForURL(/panel=documents&call=/);
  const shown = page.locator('article[aria-label="Report"]');
  await shown.getByText('it is being written').waitFor();
  const heading = shown.locator('[data-content] [data-depth="1"]');
  await heading.evaluate((node) => (node.mark = true));
  await shown.getByText('Sentence 4.', { exact: true }).waitFor();
  const early = await shown.locator('p', { hasText: /^Sentence \d+/ }).count();
  await until(async () => (await shown.locator('p', { hasText: /^Sentence \d+/ }).count()) > early + 20, 'it grows');
  assert.equal(await heading.evaluate((node) => node.mark), true, 'what was drawn stays');
  await until(() => shown.evaluate((one) => one.parentElement.scrollTop > 0), 'the end is followed');
  await page.reload();
  await shown.getByText('it is being written').waitFor();
  await shown.getByText('Sentence 4.', { exact: true }).waitFor();
  await server.stopped(session.id);
  await shown.getByText('It was not written').waitFor();
  right(page);
});

once('what a call is about to write is shown while it waits, and new versions replace only what differs', async () => {
  const { session, page } = await open({ grants: ASKS });
  const content = '# Report\n\nOne sentence.\n\nAnother one.\n';
  await say(session, script(calls('write_artifact', { name: 'Report', kind: 'markdown', content })));
  await page.locator('[data-opens]').click();
  const shown = page.locator('article[aria-label="Report"]');
  await shown.getByText('it waits for approval').waitFor();
  const heading = shown.locator('[data-content] [data-depth="1"]');
  await heading.evaluate((node) => (node.mark = true));
  const stays = async (what) => assert.equal(await heading.evaluate((node) => node.mark), true, what);
  await approve(session);
  await page.waitForURL(/panel=documents&document=/);
  await shown.getByText('version 1 by').waitFor();
  await stays('the stored text takes the place of the one that was written');
  const id = new URL(page.url()).searchParams.get('document');
  await server.settled(session.id);

  await server.ask('POST', `/v1/artifacts/${id}/versions`, { content: `${content}\nA postscript.\n`, base_version: 1 });
  await shown.getByText('A postscript.').waitFor();
  await shown.getByText('version 2 by').waitFor();
  await stays('somebody else’s version');

  await say(session, script(calls('edit_artifact', { id, base_version: 2, edits: [{ old: 'One sentence.', new: 'One longer sentence.' }] })));
  await shown.getByText('version 3 waits for approval').waitFor();
  await shown.getByText('One longer sentence.').waitFor();
  await accessible(page, 'a version that waits for approval');
  await approve(session);
  await shown.getByText('version 3 by').waitFor();
  await stays('the agent’s edit');
  await server.settled(session.id);
  assert.equal(await shown.getByText('One longer sentence.').count(), 1);

  const phone = await tab(`/c/${session.id}?panel=documents&document=${id}`, { viewport: { width: 390, height: 800 }, colorScheme: 'dark' });
  await phone.getByText('One longer sentence.', { exact: true }).waitFor();
  await accessible(phone, 'a document beside its conversation on a phone in the dark');
  assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'it fits on a phone');
  right(phone);
  right(page);
});

once('a JSON document grows as a tree; a change that the server refuses disappears', async () => {
  const { session, page } = await open({ grants: ASKS.slice(1) });
  const boats = (length) => ({ title: 'Fleet', boats: Array.from({ length }, (_, i) => ({ name: `Boat ${i + 1}` })) });
  await say(session, script(slowly('write_artifact', { name: 'Fleet', kind: 'json', content: boats(SLOW) })));
  await page.locator('[data-opens]').click();
  const shown = page.locator('article[aria-label="Fleet"]');
  const first = shown.locator('[data-content] li', { hasText: 'title' }).first();
  await first.evaluate((node) => (node.mark = true));
  await shown.getByText('Boat 6', { exact: false }).first().waitFor();
  assert.equal(await first.evaluate((node) => node.mark), true, 'what was drawn stays');
  await server.stopped(session.id);

  await say(session, script(calls('write_artifact', { name: 'Few', kind: 'json', content: boats(3) })));
  await page.locator('[data-opens]', { hasText: 'Few' }).getByText('version 1').waitFor();
  await page.locator('[data-opens]', { hasText: 'Few' }).click();
  const few = page.locator('article[aria-label="Few"]');
  await few.getByText('version 1 by').waitFor();
  const id = new URL(page.url()).searchParams.get('document');
  await server.settled(session.id);
  await say(session, script(calls('edit_artifact', { id, patch: [{ op: 'replace', path: '/title', value: 'Better' }, { op: 'test', path: '/title', value: 'Worse' }] })));
  await few.getByText('version 2 waits for approval').waitFor();
  await few.locator('[data-content]').getByText('Better').waitFor();
  await approve(session);
  await few.getByText('version 1 by').waitFor();
  await few.locator('[data-content]').getByText('Better').waitFor({ state: 'detached' });
  right(page);
});

once('an answer in the form of an object grows as a tree', async () => {
  const { session, page } = await open();
  const answer = { city: 'Bonn', streets: Array.from({ length: SLOW }, (_, i) => `Street ${i + 1}`) };
  await say(session, JSON.stringify([[{ text: JSON.stringify(answer), split: 10, token_ms: 80 }]]));
  const tree = page.locator('[data-object]');
  const city = tree.locator('li', { hasText: 'Bonn' }).first();
  await city.evaluate((node) => (node.mark = true));
  await tree.getByText('Street 12', { exact: true }).waitFor();
  assert.equal(await city.evaluate((node) => node.mark), true, 'what was drawn stays');
  await server.stopped(session.id);
  await tree.waitFor({ state: 'detached' }); // it is not an object
  right(page);
});

once('a link to a document opens it beside the conversation', async () => {
  const { id } = await document('text', 'Notes', 'Mind the gap.', { visibility: 'workspace' });
  const session = await server.session(JSON.stringify([[{ text: `See [the notes](/documents/${id}).` }]]), { model: 'sim/script' });
  const page = await tab(`/c/${session.id}`);
  await page.getByRole('link', { name: 'the notes', exact: true }).click();
  await page.locator('article[aria-label="Notes"]').getByText('Mind the gap.').waitFor();
  assert.equal(new URL(page.url()).pathname, `/c/${session.id}`);
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
  // What a script could do if one ran after all.
  const inner = page.frames().find((one) => one.parentFrame() && one.url() === 'about:srcdoc');
  const tried = await inner.evaluate(([own, other]) => {
    const refused = (act) => {
      try {
        return act() === undefined ? 'nothing' : 'worked';
      } catch (error) {
        return error.name;
      }
    };
    for (const one of [`${own}/v1/agents?from=fetch`, `${other}/fetch`]) fetch(one).catch(() => {});
    for (const one of [`${own}/favicon.svg?from=image`, `${other}/image`]) document.body.append(Object.assign(new Image(), { src: one }));
    return {
      parent: refused(() => parent.document.title),
      stored: refused(() => localStorage.length),
      cookies: refused(() => document.cookie),
      left: refused(() => (top.location.href = `${other}/top`)),
      origin: self.origin,
    };
  }, [server.url, other]);
  assert.deepEqual(tried, { parent: 'SecurityError', stored: 'SecurityError', cookies: 'SecurityError', left: 'SecurityError', origin: 'null' });
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

once('what somebody asks about a passage becomes a message in the conversation that wrote the document', async () => {
  const session = await server.session('Here is a plan');
  await server.settled(session.id);
  const { id, name } = await document('markdown', 'Plan', '# Plan\n\nFirst we walk.\n\nThen we *rest*.\n', { session_id: session.id });
  const page = await tab(`/documents/${id}`);
  await page.getByRole('button', { name: 'Comment' }).waitFor();
  await page.getByText('First we walk.').click({ clickCount: 3 });
  await page.getByRole('button', { name: 'Ask the agent to change this' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('First we walk.').waitFor();
  await accessible(page, 'a comment');
  await dialog.getByLabel('What should change?').fill('Why not ride?');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await page.waitForURL(new RegExp(`/c/${session.id}\\?panel=documents&document=${id}$`));
  const asked = async () => (await server.settled(session.id)).findLast((one) => one.role === 'user');
  const first = await asked();
  assert.equal(first.content.text, `About the document “${name}” (${id}), version 1, line 3:\n\n> First we walk.\n\nWhy not ride?`);
  assert.deepEqual(first.metadata.about, { artifact_id: id, version: 1, lines: [3, 3], pointer: null });

  const beside = page.locator(`[data-beside="${id}"]`);
  await beside.getByText('Then we rest.').click({ clickCount: 3 });
  await beside.getByRole('button', { name: 'Ask the agent to change this' }).click();
  await dialog.getByLabel('What should change?').fill('For how long?');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.locator('[data-bubble]', { hasText: 'For how long?' }).waitFor();
  assert.deepEqual((await asked()).metadata.about.lines, [5, 5], 'the marks of Markdown do not hide the line');
  right(page);
});

once('a part of a tree is chosen by the keyboard, and asked about in any conversation', async () => {
  const { id } = await document('json', 'Fleet', { boats: [{ name: 'Gull' }, { name: 'Tern' }] });
  const session = await server.session(`Talk ${crypto.randomUUID().slice(0, 8)}`);
  await server.settled(session.id);
  const page = await tab(`/documents/${id}`);
  const part = page.locator('[data-pointer="/boats/1/name"]').getByRole('button', { name: 'name' });
  await part.focus();
  await part.press('Enter');
  await page.getByRole('button', { name: 'name', pressed: true }).waitFor();
  await accessible(page, 'a chosen part');
  await page.getByRole('button', { name: 'Ask the agent to change this' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('What should change?').fill('Is it afloat?');
  await dialog.getByLabel('Conversation').selectOption(session.id);
  await dialog.getByRole('button', { name: 'Send' }).click();
  await page.waitForURL(new RegExp(`/c/${session.id}`));
  const asked = (await server.settled(session.id)).findLast((one) => one.role === 'user');
  assert.equal(asked.content.text, `About the document “Fleet” (${id}), version 1, at /boats/1/name:\n\n> "Tern"\n\nIs it afloat?`);
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

once('a file is shown as its picture, or can be downloaded; it is compared by what it is, and not edited', async () => {
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

test('from a sentence one click leads to what wrote it, and the lineage is walked by keys and read as a list', async () => {
  const session = await server.session('Write an outline', { model: 'sim/document', tools: TOOLS });
  await server.settled(session.id);
  const { data: [outline] } = await server.ask('GET', `/v1/artifacts?session=${session.id}`);
  const page = await tab(`/documents/${outline.id}`);
  await page.getByText('Simulated text.').click({ clickCount: 3 });
  await page.getByRole('link', { name: 'What wrote this' }).click();
  await page.waitForURL(/tab=lineage&version=2&range=3$/);
  const changed = page.locator('[data-changed="1"]');
  const { nodes } = await server.ask('GET', `/v1/artifacts/${outline.id}/lineage?version=1`);
  const call = nodes.find((one) => one.kind === 'call').call_id;
  await changed.getByRole('link', { name: /^Model call/ }).waitFor();
  await accessible(page, 'what wrote a sentence');
  await changed.getByRole('link', { name: /^Model call/ }).click();
  await page.waitForURL(new RegExp(`/c/${session.id}/inspect\\?row=call-${call}$`));

  await page.goto(`${server.url}/documents/${outline.id}?tab=unknown`);
  await page.locator('[aria-current="page"]', { hasText: 'Read' }).waitFor();
  await page.goto(`${server.url}/documents/${outline.id}?tab=lineage`);
  const graph = page.getByRole('group', { name: /^Lineage as a graph/ });
  const here = graph.locator('[aria-current="true"]');
  assert.equal(await here.getAttribute('data-node'), `artifact:${outline.id}:2`);
  await here.focus();
  await here.press('ArrowLeft');
  const second = await here.getAttribute('data-node');
  assert.notEqual(second, `artifact:${outline.id}:2`);
  await here.press('ArrowRight');
  assert.equal(await here.getAttribute('data-node'), `artifact:${outline.id}:2`);
  await page.getByRole('button', { name: 'As a list' }).click();
  await page.locator(`[data-listed="artifact:${outline.id}:1"]`).waitFor();
  await accessible(page, 'a lineage as a list');
  await page.getByRole('button', { name: 'As a list' }).click();
  await graph.locator(`[data-node="artifact:${outline.id}:1"]`).focus();
  await page.keyboard.press('Enter');
  await page.waitForURL(/tab=lineage&version=1$/);
  await server.ask('POST', `/v1/artifacts/${outline.id}/versions`, { edits: [{ old: 'Simulated text.', new: 'Written by hand.' }] });
  await page.goto(`${server.url}/documents/${outline.id}?tab=lineage`);
  const edit = graph.locator('[data-node^="transform:"]').first();
  await edit.getByText(/^Edited by /).waitFor();
  await edit.getByText('By hand').waitFor();
  await accessible(page, 'an edit in a lineage');
  await page.goto(`${server.url}/documents/${outline.id}?tab=lineage&version=3&range=3`);
  await page.locator('[data-changed="3"]').getByText(/^By hand: Edited by /).waitFor();
  const phone = await tab(`/documents/${outline.id}?tab=lineage`, { viewport: { width: 390, height: 800 }, colorScheme: 'dark' });
  await phone.locator('[data-node]').first().waitFor();
  await accessible(phone, 'a lineage on a phone in the dark');
  assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'it fits on a phone');
  right(phone);
  right(page);
});

once('a project lists its runs and what they cost; a version whose input has moved on is stale', async () => {
  const directory = mkdtempSync(path.join(homedir(), 'parley-page-')); // where projects may lie
  after(() => rmSync(directory, { recursive: true, force: true }));
  const project = await server.ask('POST', '/v1/projects', { name: `Book ${crypto.randomUUID().slice(0, 8)}`, path: directory });
  const source = await document('markdown', 'Notes', 'Some notes.\n', { project_id: project.id });
  const page = await tab(`/projects/${project.id}`);
  await page.getByText('No transforms in this project yet.').waitFor();
  const settings = ['end_user', 'max_tokens', 'parallel_tool_calls', 'reasoning_effort', 'request_metadata', 'response_format', 'seed', 'service_tier', 'stop', 'temperature', 'tool_choice', 'top_p'];
  const none = { agent_id: null, definition: null, definition_version: null, parameters: { ...Object.fromEntries(settings.map((name) => [name, null])), response_format: { type: 'text' } }, tool_results: [], visibility: null, cite: false, dry_run: false };
  const run = await server.ask('POST', '/v1/transforms', {
    ...none,
    name: 'Sum up',
    model: 'sim/echo',
    instructions: 'Sum up.',
    project_id: project.id,
    inputs: [{ artifact_id: source.id, name: null, pointer: null, version: null }],
    outputs: [{ kind: 'markdown', title: 'Summary', name: null, base_version: null, schema: null }],
  });
  const row = page.locator(`[data-run="${run.id}"]`);
  await row.getByText('completed').waitFor();
  await accessible(page, 'a project with a run');
  await page.reload();
  await page.locator('[data-costs]').getByText('sim/echo').waitFor();
  await server.ask('POST', `/v1/artifacts/${source.id}/versions`, { content: 'Other notes.\n', base_version: 1 });
  await row.getByRole('link', { name: /^Summary, version 1/ }).click();
  await page.getByRole('link', { name: 'Lineage', exact: true }).click();
  const graph = page.getByRole('group', { name: /^Lineage as a graph/ });
  await graph.getByText('stale').waitFor();
  await graph.locator('[data-node^="transform:"]', { hasText: 'Sum up' }).waitFor();
  await accessible(page, 'a stale version');
  await page.getByRole('button', { name: 'Refresh…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.locator('li', { hasText: 'sum-up' }).waitFor();
  await accessible(page, 'what a refresh would run');
  await dialog.getByRole('button', { name: 'Run again' }).click();
  await page.waitForURL(/\/runs\//);
  await page.getByRole('status').getByText('completed', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Summary', exact: true }).click();
  await page.waitForURL(/version=2$/);
  await page.locator('[data-content]').getByText('Other notes.').first().waitFor();
  right(page);
});

test('the example pipeline is started from the first screen and watched, and a sentence of its summary leads to the chapters and the model call', async () => {
  const page = await tab('/new');
  await page.getByRole('button', { name: /Watch a book being written/ }).click();
  await page.waitForURL(/\/runs\//);
  const id = page.url().match(/runs\/([^?]+)/)[1];
  const node = (name) => page.locator(`[data-node="${name}"]`);
  await page.getByRole('status').getByText('completed', { exact: true }).waitFor(); // without a reload
  await node('chapters').getByRole('link', { name: 'Chapter 3', exact: true }).waitFor();
  await accessible(page, 'a run of a pipeline');
  const run = await server.ask('GET', `/v1/pipeline-runs/${id}`);
  const chapters = run.nodes.find((one) => one.node.name === 'chapters').instances.map((one) => one.outputs[0].artifact_id);
  const transform = run.nodes.find((one) => one.node.name === 'summary').instances[0].transform_id;
  await node('summary').getByRole('link', { name: 'Summary', exact: true }).click();
  await page.locator('[data-content] p').first().click({ clickCount: 3 });
  await page.getByRole('link', { name: 'What wrote this' }).click();
  await page.waitForURL(/tab=lineage&version=1&range=/);
  const graph = page.getByRole('group', { name: /^Lineage as a graph/ });
  for (const chapter of chapters) await graph.locator(`[data-node="artifact:${chapter}:1"]`).waitFor();
  await page.locator('[data-changed="1"]').getByRole('link', { name: /^Model call/ }).click();
  await page.waitForURL(new RegExp(`/c/${transform}/inspect\\?row=call-`));
  await page.goto(`${server.url}/documents`);
  await page.locator(`[data-pipeline="${id}"]`).click();
  await page.waitForURL(new RegExp(`/runs/${id}$`));
  right(page);
});

once('a run of a pipeline is cancelled and resumed on its page', async () => {
  const output = (title) => [{ kind: 'text', title, name: 'content', schema: null }];
  const node = (name, model, inputs = []) => ({ name, model, instructions: 'Write.', inputs, outputs: output(name), agent_id: 'parley', cite: false });
  const run = await server.ask('POST', '/v1/pipeline-runs', {
    name: 'Slow work',
    agent_id: 'parley',
    project_id: null,
    visibility: 'private',
    documents: [],
    parallel: 1,
    nodes: [node('first', 'sim/lorem-20-5'), node('second', 'sim/lorem-2000-40', [{ node: 'first', document: null, output: 0, pointer: '', each: false }])],
  });
  const page = await tab(`/runs/${run.id}`);
  await page.locator('[data-node="second"]').getByRole('link', { name: 'Watch it' }).waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('status').getByText('cancelled').waitFor();
  await accessible(page, 'a cancelled run');
  await page.getByRole('button', { name: 'Retry what failed' }).click();
  await page.getByRole('status').getByText('running').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('status').getByText('cancelled').waitFor();
  right(page);
});
