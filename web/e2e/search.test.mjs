import assert from 'node:assert/strict';
import { test } from 'node:test';
import { once, open, right, until } from './harness.mjs';
import { context, server, stage, tab } from './stage.mjs';

stage();

// talk writes a conversation with a number of messages, without a turn; text returns the text of each.
async function talk(count, text, fields = {}) {
  const session = await server.ask('POST', '/v1/sessions', { title: `A talk of ${count}`, ...fields });
  for (let n = 1; n <= count; n += 1) {
    await server.ask('POST', `/v1/sessions/${session.id}/messages`, { role: n % 2 ? 'user' : 'assistant', content: { text: text(n) }, ...(n % 2 ? { respond: false } : {}) });
  }
  return session;
}

const numbered = (n) => `Number ${n}.\n\n${'words and more '.repeat((n * 7) % 60)}`;
const row = (page, n) => page.locator('article', { hasText: new RegExp(`^Number ${n}\\.`) });
const top = (page, n) => row(page, n).evaluate((article) => article.getBoundingClientRect().top);

// rests waits until a row has kept its position for a while, and returns it.
async function rests(page, n) {
  return row(page, n).evaluate(async (article) => {
    let still = 0;
    for (let last = NaN; still < 30; ) {
      await new Promise(requestAnimationFrame);
      const now = article.getBoundingClientRect().top;
      still = now === last ? still + 1 : 0;
      last = now;
    }
    return article.getBoundingClientRect().top;
  });
}

once('a message far up is opened at its position, highlighted, and stays there while others arrive around it', async () => {
  const session = await talk(260, numbered);
  const page = await tab(`/c/${session.id}?at=100`);
  await row(page, 100).waitFor();
  await page.locator('.sought', { hasText: 'Number 100.' }).waitFor();
  const place = await rests(page, 100);
  assert.ok(place > 48 && place < 400, `it stands at ${place}`);
  assert.equal(await row(page, 180).count() + await row(page, 260).count(), 0, 'pages between were loaded');
  await page.getByText('Jump to latest').waitFor();
  // New messages are not shown in the middle of the record.
  await server.ask('POST', `/v1/sessions/${session.id}/messages`, { role: 'user', respond: false, content: { text: 'Number 261.' } });
  await page.locator('.sought').waitFor({ state: 'detached' });
  assert.equal(await top(page, 100), place);
  // Down to the end, page by page.
  await page.mouse.move(600, 400);
  await until(async () => {
    await page.mouse.wheel(0, 6000);
    return (await page.getByText('Jump to latest').count()) === 0;
  }, 'the end is reached by scrolling');
  assert.equal(await row(page, 261).count(), 1);
  // The same page opens another message, by its id, and returns to the end.
  const third = (await server.ask('GET', `/v1/sessions/${session.id}/messages?from_sequence=3&limit=1`)).data[0];
  await page.evaluate((at) => history.pushState({}, '', `?at=${at}`), third.id);
  await row(page, 3).waitFor();
  await rests(page, 3);
  await page.getByText('Jump to latest').click();
  await row(page, 261).waitFor();
  await page.getByText('Jump to latest').waitFor({ state: 'detached' });
  assert.equal(new URL(page.url()).search, '');
  right(page);
});

once('the page says that a message does not exist', async () => {
  const session = await talk(2, numbered);
  const page = await tab(`/c/${session.id}?at=00000000-0000-7000-8000-000000000000`, { reducedMotion: 'reduce' });
  await page.getByText('is not in this conversation').waitFor();
  await row(page, 2).waitFor();
  right(page);
});

test('events that nobody has seen are unread in every tab, until one of them shows them', async () => {
  const session = await server.session('Old news');
  await server.settled(session.id);
  const first = await tab('/new');
  const second = await open(context, server, '/inbox');
  const marks = (page) => page.locator('[data-session-list] a', { hasText: 'Old news' }).getByRole('img', { name: 'Unread' });
  for (const page of [first, second]) {
    await page.locator('[data-session-list] a', { hasText: 'Old news' }).waitFor();
    assert.equal(await marks(page).count(), 0, 'what was there before is unread');
  }
  await server.ask('POST', `/v1/sessions/${session.id}/messages`, { content: { text: 'Fresh news' } });
  await server.settled(session.id);
  for (const page of [first, second]) await marks(page).waitFor();
  await first.getByRole('link', { name: /Old news Unread/ }).click();
  await first.locator('.prose-chat', { hasText: 'Fresh news' }).waitFor();
  for (const page of [first, second]) await marks(page).waitFor({ state: 'detached' });
  await first.reload();
  await first.locator('.prose-chat', { hasText: 'Fresh news' }).waitFor();
  assert.equal(await marks(first).count(), 0);
  for (const page of [first, second]) right(page);
});

const field = '[data-search]';
const hits = '[data-hit]';

test('messages are found as one types, narrowed by filters, and opened at their position', async () => {
  const plans = await server.session('Where is the zephyr needle?', { title: 'Of haystacks' });
  await server.settled(plans.id);
  const clock = await server.session('What time is it?', { model: 'sim/tool', title: 'The zephyr clock' });
  await server.settled(clock.id);
  const page = await tab('/new');
  await page.getByText('What shall we talk about?').waitFor();
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder(/A conversation/).fill('usage');
  await page.locator('[role=option][aria-selected=true]', { hasText: /^Usage$/ }).waitFor(); // a page, by its name
  await page.getByLabel('Go to').getByPlaceholder(/A conversation/).fill('zephyr need');
  await page.getByRole('option', { name: /zephyr needle/ }).first().waitFor();
  await page.getByRole('option', { name: 'Search messages for “zephyr need”' }).click();
  await page.waitForURL(/\/search\?q=zephyr\+need$/);
  await page.locator(hits).first().waitFor();
  assert.equal(await page.inputValue(field), 'zephyr need');
  await page.fill(field, 'zeph');
  const title = page.locator(hits, { hasText: 'in the title' });
  await title.locator('mark', { hasText: 'zephyr' }).waitFor();
  const question = page.locator(hits, { hasText: 'Where is the zephyr needle?' }).filter({ hasText: 'Local owner' });
  await question.locator('mark', { hasText: 'zephyr' }).waitFor();
  assert.equal(new URL(page.url()).search, '?q=zeph');
  // The address holds the filters, and Back removes them.
  await page.getByLabel('Who said it').selectOption('tool_call');
  await page.getByText('Nothing was found.').waitFor();
  assert.equal(new URL(page.url()).search, '?q=zeph&role=tool_call');
  await page.goBack();
  await question.waitFor();
  await page.getByLabel('Who said it').selectOption('user');
  await title.waitFor({ state: 'detached' });
  await page.getByLabel('When').selectOption('7');
  await question.waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await title.waitFor();
  // With the keyboard: into the results, back to the field, and to the message.
  await page.focus(field);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('j');
  await page.keyboard.press('k');
  const held = () => page.evaluate(() => document.activeElement?.getAttribute('data-hit'));
  await until(async () => (await held()) === (await page.locator(hits).first().getAttribute('data-hit')), 'the first hit is held');
  await page.keyboard.press('Escape');
  await until(() => page.locator(field).evaluate((input) => input === document.activeElement), 'Escape leads back to the field');
  await page.fill(field, '"zephyr nee'); // an unfinished phrase
  await question.waitFor();
  await title.waitFor({ state: 'detached' });
  await page.fill(field, '"zephyr needle" -clock');
  await page.waitForURL((address) => address.searchParams.get('q') === '"zephyr needle" -clock');
  await until(async () => (await page.locator(hits).count()) > 0 && (await title.count()) === 0, 'the phrase is found, and the title with the clock is not');
  await page.getByLabel('Who said it').selectOption('user');
  await until(async () => (await page.locator(hits).count()) === 1, 'one question is found');
  await page.locator(hits).focus();
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/c\/.+\?at=/);
  await page.locator('.sought', { hasText: 'Where is the zephyr needle?' }).waitFor();
  await page.goBack();
  await until(async () => (await held()) !== null, 'the hit that was opened has the focus again');
  assert.equal(await page.inputValue(field), '"zephyr needle" -clock');
  // In a single conversation.
  await page.goForward();
  await page.locator('article', { hasText: 'Where is the zephyr needle?' }).first().waitFor();
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder(/A conversation/).fill('zephyr');
  await page.getByRole('option', { name: 'Search this conversation for “zephyr”' }).click();
  await page.getByText('In Of haystacks').waitFor();
  await until(async () => (await question.isVisible()) && (await title.count()) === 0, 'one conversation alone is shown');
  await page.getByRole('button', { name: 'Search every conversation' }).click();
  await title.waitFor();
  right(page);
});

once('results stay, dimmed, until the next response; problems are shown', async () => {
  const session = await server.session('Patience is a virtue');
  await server.settled(session.id);
  const page = await tab('/search?q=patience');
  await page.locator(hits).first().waitFor();
  let release;
  const held = new Promise((resolve) => (release = resolve));
  const gone = [];
  page.on('requestfailed', (request) => gone.push(new URL(request.url()).searchParams.get('q')));
  await page.route('**/v1/search?*', async (route) => {
    await held;
    await route.continue().catch(() => undefined); // already aborted
  });
  const sent = page.waitForRequest((request) => request.url().endsWith('q=virtu&limit=20'));
  await page.fill(field, 'virtu');
  await sent;
  await page.locator('[aria-busy=true] ol.opacity-50').waitFor();
  assert.ok((await page.locator(hits).count()) > 0, 'the results went away');
  await page.fill(field, 'virtue');
  await until(() => gone.includes('virtu'), 'the request before is taken back');
  release();
  await page.locator('[aria-busy=false] ol:not(.opacity-50)').waitFor();
  await page.unroute('**/v1/search?*');
  // An index that is still being built, a failure, and no server at all.
  await page.route('**/v1/search?*', (route) => route.fulfill({ json: { data: [], next: null, complete: false } }));
  await page.fill(field, 'early');
  await page.getByText('still being indexed').waitFor();
  await page.getByText('Nothing was found.').waitFor();
  await page.unroute('**/v1/search?*');
  await page.route('**/v1/search?*', (route) => route.fulfill({ status: 422, contentType: 'application/problem+json', json: { code: 'invalid', detail: 'Write a word to look for.' } }));
  await page.fill(field, '-');
  await page.getByText('Write a word to look for.').waitFor();
  await page.unroute('**/v1/search?*');
  await page.route('**/v1/search?*', (route) => route.abort('connectionrefused'));
  await page.fill(field, 'nobody');
  await page.getByText('The server does not respond.').waitFor();
  await page.unroute('**/v1/search?*');
  await page.getByText('Nothing was found.').waitFor();
  right(page);
});

once('a word deep in a long message is scrolled into view and highlighted', async () => {
  const session = await server.ask('POST', '/v1/sessions', { title: 'A long letter' });
  const text = `${'Nothing of note happened on this day. '.repeat(400)}\n\nThen the Quokka appeared.\n\n${'And all was as before. '.repeat(200)}`;
  await server.ask('POST', `/v1/sessions/${session.id}/messages`, { role: 'user', respond: false, content: { text } });
  const page = await tab('/search?q=quokka');
  await page.locator(hits).click();
  await page.waitForURL(/find=Quokka/);
  const marked = () => page.evaluate(() => [...(CSS.highlights.get('found') ?? [])].map((range) => ({ text: String(range), top: range.getBoundingClientRect().top })));
  await until(async () => (await marked()).length === 1, 'the word is marked');
  const [{ text: word, top: place }] = await marked();
  assert.equal(word, 'Quokka');
  assert.ok(place > 48 && place < 700, `it stands at ${place}`);
  right(page);
});
