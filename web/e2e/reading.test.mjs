// What is read: texts, tools, versions, the list, and where one was.
import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { accessible, once, right, until } from './harness.mjs';
import { server, stage, tab } from './stage.mjs';

const home = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-files-')));
process.env.PARLEY_PROJECT_ROOTS = home;
stage();
after(() => rmSync(home, { recursive: true, force: true }));

const composer = '[data-composer]';
const script = (steps, fields = {}) => server.session(JSON.stringify(steps), { model: 'sim/script', ...fields });

const TEXT = [
  '# One', '## Two', '### Three', '#### Four',
  '- [ ] to be done\n- [x] is done',
  `| left | right |${' wide column |'.repeat(12)}\n|:--|--:|${'---|'.repeat(12)}\n| a | 12 |${' some text |'.repeat(12)}`,
  'A sum $a_1 * b_2 * c_3$ and \\(x_1\\), for $5 and *not* $6.',
  '$$\n\\sum_{i} x_i \\\\ y\n$$',
  'مرحبا بالعالم',
  '```go\nfunc main() {}\n```',
].join('\n\n');

once('headings, tasks, tables, formulas and other scripts are shown as they are meant', async () => {
  const session = await script([[{ text: TEXT }]], { title: 'All of it' });
  await server.settled(session.id);
  const page = await tab(`/c/${session.id}`, { viewport: { width: 1000, height: 1400 } });
  const said = page.locator('article[aria-label^="Answer"] .prose-chat');
  await said.getByText('is done').waitFor();
  const sizes = await said.locator('[data-depth]').evaluateAll((all) => all.map((one) => parseFloat(getComputedStyle(one).fontSize)));
  assert.deepEqual([...sizes].sort((a, b) => b - a), sizes, 'deeper headings are smaller');
  assert.equal(new Set(sizes).size, 4);
  assert.deepEqual(await said.getByRole('checkbox').evaluateAll((all) => all.map((one) => one.checked)), [false, true]);
  assert.ok(!(await said.innerText()).includes('[x]'), 'the mark of a task is its box');
  const box = said.getByRole('region', { name: 'Table' });
  assert.ok(await box.evaluate((one) => one.scrollWidth > one.clientWidth), 'a wide table scrolls');
  assert.equal(await said.getByRole('cell', { name: '12', exact: true }).evaluate((one) => getComputedStyle(one).textAlign), 'right');
  assert.ok(await said.getByRole('columnheader', { name: 'right' }).evaluate((one) => one.clientHeight < 45), 'its words stay whole');
  const text = await said.innerText();
  for (const formula of ['$a_1 * b_2 * c_3$', '\\(x_1\\)', '\\sum_{i} x_i \\\\ y']) assert.ok(text.includes(formula), formula);
  assert.equal(await said.locator('em').innerText(), 'not');
  assert.equal(await said.getByText('مرحبا').evaluate((one) => getComputedStyle(one).direction), 'rtl');
  await page.locator('article time').first().waitFor();
  await accessible(page, 'all kinds of text');
  right(page);
});

once('an answer that is written to stop the page is read like any other', async () => {
  const session = await server.ask('POST', '/v1/sessions', { title: 'Hostile' });
  for (const text of ['>'.repeat(100_000), '_a_'.repeat(33_000), 'a *short* one']) {
    await server.ask('POST', `/v1/sessions/${session.id}/messages`, { role: 'assistant', content: { text } });
  }
  const page = await tab(`/c/${session.id}`);
  await page.locator('article[aria-label^="Answer"] em', { hasText: 'short' }).waitFor();
  await page.locator(composer).fill('still here');
  assert.equal(await page.locator(composer).inputValue(), 'still here');
  right(page);
});

once('code has its colours while it streams', async () => {
  const lines = Array.from({ length: 60 }, (_, i) => ({ text: `${i === 0 ? '```go\n' : ''}func f${i}() string { return "x" }\n`, wait_ms: 500 }));
  const session = await script([[...lines.flatMap((one) => [{ text: one.text }, { wait_ms: one.wait_ms }])]], { title: 'Code' });
  const page = await tab(`/c/${session.id}`);
  await page.locator('article[aria-busy=true] .hljs-keyword').first().waitFor();
  await server.ask('POST', `/v1/sessions/${session.id}/cancel`, {});
  right(page);
});

once('the list is grouped by date, project or agent, and stays so', async () => {
  const agent = await server.ask('POST', '/v1/agents', { name: 'Scout' });
  const project = await server.ask('POST', '/v1/projects', { path: home, name: 'Harbour' });
  await server.ask('POST', '/v1/sessions', { title: 'About ships', project_id: project.id });
  await server.ask('POST', '/v1/sessions', { title: 'About trees', agent_id: agent.id });
  const page = await tab('/new');
  const list = page.locator('[data-session-list] li');
  const grouped = async (kind, expected) => {
    if (kind) {
      await page.getByRole('button', { name: 'Group and filter conversations' }).click();
      await page.getByRole('menuitem', { name: kind }).click();
    }
    await until(async () => {
      const heading = {}; // of each conversation
      let last = '';
      for (const row of await list.all()) {
        const name = row.getByRole('heading');
        if (await name.count()) last = (await name.innerText()).trim();
        else heading[(await row.getByRole('link').first().innerText()).split('\n')[0]] = last;
      }
      return Object.entries(expected).every(([title, name]) => heading[title] === name);
    }, `grouped ${kind || 'as before'}`);
  };
  await grouped('', { 'About ships': 'Today', 'About trees': 'Today' });
  await grouped('By project', { 'About ships': 'Harbour', 'About trees': 'No project' });
  await grouped('By agent', { 'About ships': 'Parley', 'About trees': 'Scout' });
  await page.reload();
  await grouped('', { 'About ships': 'Parley', 'About trees': 'Scout' });
  right(page);
});

once('a written file is shown as code, then as what changes; JSON is a tree; long and failed results are folded', async () => {
  const project = await server.ask('POST', '/v1/projects', { path: home });
  const agent = await server.ask('POST', '/v1/agents', { name: 'Writing', tools: ['write_file', 'read_file', 'current_time'], grants: [{ tool: 'write_file', effect: 'allow' }] });
  const write = (text) => [{ tool_call: { name: 'write_file', arguments: { path: 'main.go', text } } }];
  const long = Array.from({ length: 40 }, (_, i) => `line ${i + 1}`).join('\n');
  const session = await script([write('package main\n\nfunc main() {}\n'), write('package main\n\nfunc other() {}\n'), [{ tool_call: { name: 'write_file', arguments: { path: 'long.txt', text: long } } }], [{ tool_call: { name: 'read_file', arguments: { path: 'long.txt' } } }], [{ text: 'Written.' }]], { agent_id: agent.id, project_id: project.id, title: 'Files' });
  await server.settled(session.id);
  const page = await tab(`/c/${session.id}`, { viewport: { width: 1200, height: 1600 }, permissions: ['clipboard-read', 'clipboard-write'] });
  const card = page.getByRole('region', { name: /^Tools: write_file/ });
  await card.getByRole('button').first().click();
  await card.getByRole('region').or(card.locator('[data-written="main.go"]')).first().waitFor();
  await card.locator('[data-written="main.go"] .hljs-keyword').first().waitFor();
  const changes = card.getByLabel('What changes in main.go');
  await changes.getByText('− func main() {}').waitFor();
  await changes.getByText('+ func other() {}').waitFor();
  const result = card.locator('[data-payload="Result"]').last();
  assert.equal(await result.getByText('line 40').count(), 0, 'a long result is folded');
  await result.getByRole('button', { name: /^Copy ?: Result/ }).click();
  await until(async () => (await page.evaluate(() => navigator.clipboard.readText())).includes('line 40'), 'all of it is copied');
  await result.getByRole('button', { name: /^all .* characters/ }).click();
  await result.getByText('line 40').waitFor();
  await accessible(page, 'written files');
  right(page);
});

once('questions and failures wait beside approvals', async () => {
  const agent = await server.ask('POST', '/v1/agents', { name: 'Curious', tools: ['ask_user'] });
  const session = await script([[{ tool_call: { name: 'ask_user', arguments: { question: 'Which one?', options: ['This', 'That'] } } }], [{ text: 'That one.' }]], { agent_id: agent.id, title: 'It asks' });
  const failed = await script([[{ error: { class: 'auth', retryable: false, message: 'no such key' } }]], { title: 'It broke' });
  await server.settled(failed.id);
  const page = await tab('/inbox');
  const asked = page.locator(`[data-question="${session.id}"]`);
  await asked.getByText('Which one?').waitFor();
  await page.getByRole('link', { name: 'Inbox 1' }).waitFor();
  const broke = page.locator(`[data-failed="${failed.id}"]`);
  await broke.getByText('Check the provider').waitFor();
  await accessible(page, 'questions and failures');
  await asked.getByRole('button', { name: 'That' }).click();
  await asked.waitFor({ state: 'detached' });
  await page.getByText('Nothing waits for you.').waitFor();
  await broke.getByRole('button', { name: 'Choose another model' }).click();
  await page.waitForURL(new RegExp(failed.id));
  right(page);
});

once('answers to one question are versions in place; branches fold under their origin', async () => {
  const session = await server.session('Tell me', { title: 'The origin' });
  const [, answer] = await server.settled(session.id);
  const page = await tab(`/c/${session.id}`);
  await page.locator('article[aria-label^="Answer"]').waitFor();
  assert.equal(await page.locator('[data-versions]').count(), 0);
  await page.getByRole('button', { name: 'Answer again, in a new branch' }).click();
  const versions = page.locator('[data-versions]');
  await versions.getByText('2/2').waitFor();
  await page.getByRole('button', { name: 'Answer again, in a new branch' }).click();
  await versions.getByText('3/3').waitFor();
  await versions.getByRole('button', { name: 'Previous version' }).click();
  await versions.getByText('2/3').waitFor();
  await versions.getByRole('button', { name: 'Previous version' }).click();
  await versions.getByText('1/3').waitFor();
  assert.ok(page.url().includes(session.id));
  await page.locator(`[data-message="${answer.id}"]`).waitFor();
  const list = page.getByRole('list', { name: 'Conversations' });
  const fold = list.getByRole('button', { name: '2 branches of The origin' });
  if ((await fold.getAttribute('aria-expanded')) === 'true') await fold.click();
  await until(async () => (await list.getByLabel('Fork').count()) === 0, 'branches are folded');
  await fold.click();
  await until(async () => (await list.getByLabel('Fork').count()) === 2, 'and unfold');
  await accessible(page, 'versions');
  right(page);
});

once('a conversation is renamed, pinned and deleted in the list', async () => {
  const session = await server.session('Hello', { title: 'In the list' });
  await server.settled(session.id);
  const page = await tab('/new');
  const menu = async (name, entry) => {
    await page.getByRole('link', { name }).first().hover();
    await page.getByRole('button', { name: `Menu of ${name}` }).click();
    await page.getByRole('menuitem', { name: entry }).click();
  };
  await menu('In the list', 'Rename');
  await page.getByRole('dialog').getByLabel('Title').fill('Renamed here');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Renamed here' }).waitFor();
  await menu('Renamed here', 'Rename');
  await page.getByRole('dialog').getByLabel('Title').fill('**Renamed** `here`');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Renamed here' }).click(); // without the marks of Markdown
  await page.getByRole('heading', { level: 1, name: 'Renamed here', exact: true }).waitFor();
  assert.equal(await page.title(), 'Renamed here – Parley');
  await menu('Renamed here', 'Pin');
  await page.getByRole('heading', { name: 'Pinned' }).waitFor();
  await menu('Renamed here', 'Delete');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('link', { name: 'Renamed here' }).waitFor({ state: 'detached' });
  right(page);
});

once('Home leads to the first message, Back to where one read, and a long conversation opens without a jump', async () => {
  const session = await server.ask('POST', '/v1/sessions', { model: 'sim/echo', title: 'Long' });
  for (let n = 1; n <= 150; n++) await server.ask('POST', `/v1/sessions/${session.id}/messages`, { role: 'user', respond: false, content: { text: `Number ${n}. ${'More words of it. '.repeat((n * 7) % 60)}` } });
  const page = await tab(`/c/${session.id}`);
  await page.getByText('Number 150.').waitFor();
  await page.locator('[data-transcript] article').last().click();
  const shift = await page.evaluate(() => {
    const observer = new PerformanceObserver(() => undefined);
    observer.observe({ type: 'layout-shift', buffered: true });
    return observer.takeRecords().reduce((sum, entry) => sum + entry.value, 0);
  });
  assert.ok(shift < 0.1, `it shifts by ${shift}`);
  await page.keyboard.press('Home');
  await page.getByText(/^Number 1\./).waitFor();
  const view = page.locator('[data-transcript]');
  await view.hover();
  await page.mouse.wheel(0, 900);
  const first = async () => {
    const top = (await view.boundingBox()).y;
    return page.locator('[data-transcript] article').evaluateAll((all, edge) => all.map((one) => [one.textContent.slice(0, 60), Math.round(one.getBoundingClientRect().top - edge)]).find(([, at]) => at >= 0), top);
  };
  let was = await first();
  await until(async () => {
    const now = await first();
    const still = now[1] === was[1] && now[0] === was[0];
    was = now;
    return still;
  }, 'the scroll has ended');
  await page.getByRole('link', { name: 'Usage' }).click();
  await page.getByRole('heading', { name: 'Usage' }).waitFor();
  await page.goBack();
  await until(async () => {
    const now = await first().catch(() => null);
    return now && now[0] === was[0] && Math.abs(now[1] - was[1]) <= 2;
  }, `it is where it was: ${was}`);
  assert.equal(await page.locator('.sought').count(), 0, 'nothing is highlighted');
  right(page);
});

once('the drawer lies over the conversation at 1,024 pixels and has all events; the inspector keeps its times', async () => {
  const session = await server.session('Hello', { title: 'Narrow' });
  await server.settled(session.id);
  const page = await tab(`/c/${session.id}`, { viewport: { width: 1024, height: 768 } });
  await page.locator('article').first().waitFor();
  const { width } = await page.locator('[data-transcript]').boundingBox();
  await page.goto(`${server.url}/c/${session.id}?panel=trace`);
  const drawer = page.getByRole('complementary', { name: 'Events' });
  await drawer.getByText('session.completed').waitFor();
  const { last_event_sequence: events } = await server.ask('GET', `/v1/sessions/${session.id}`);
  await until(async () => (await drawer.getByRole('listitem').count()) === events, 'every event is there');
  assert.equal((await page.locator('[data-transcript]').boundingBox()).width, width);
  await page.setViewportSize({ width: 1400, height: 768 });
  await until(async () => (await page.locator('[data-transcript]').boundingBox()).width < width + 100, 'it stands beside the conversation');
  await page.setViewportSize({ width: 1000, height: 768 });
  await drawer.waitFor({ state: 'detached' }); // it would cover what one reads
  await page.goto(`${server.url}/c/${session.id}/inspect`);
  await page.locator('[data-rows] [data-row]').first().click();
  await page.getByRole('complementary', { name: 'Row' }).waitFor();
  assert.match(await page.locator('[data-rows] [data-row] time').first().innerText(), /^\d\d:\d\d:\d\d$/);
  right(page);
});

once('on a phone a model is chosen, and tables fit', async () => {
  const session = await server.session('Hello', { title: 'Small' });
  await server.settled(session.id);
  const page = await tab(`/c/${session.id}`, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await page.getByLabel('Model of this conversation').selectOption('sim/lorem-200-5');
  await page.getByRole('button', { name: 'Change it' }).click();
  await until(async () => (await server.ask('GET', `/v1/sessions/${session.id}`)).model === 'sim/lorem-200-5');
  await accessible(page, 'a conversation on a phone');
  await page.goto(`${server.url}/settings/models`);
  const table = page.getByRole('region', { name: 'Models' });
  await table.getByText('Price').first().waitFor();
  assert.ok(await table.evaluate((one) => one.scrollWidth <= one.clientWidth), 'nothing is cut off');
  await page.goto(`${server.url}/audit`);
  const audit = page.getByRole('region', { name: 'Audit entries' });
  await audit.getByText('create session').first().waitFor();
  assert.ok(await audit.evaluate((one) => one.scrollWidth <= one.clientWidth), 'nothing of the audit is cut off');
  right(page);
});

once('what only colours show is visible in forced colours, and the send button in both themes', async () => {
  const session = await server.session('Hello', { title: 'Forced' });
  await server.settled(session.id);
  const page = await tab(`/c/${session.id}`, { forcedColors: 'active' });
  await page.locator('article').first().waitFor();
  const look = (locator, property) => locator.evaluate((one, name) => getComputedStyle(one)[name], property);
  assert.equal(await look(page.locator('[data-session-list] [aria-current]'), 'outlineStyle'), 'solid');
  assert.equal(await look(page.locator('[data-bubble]').first(), 'borderTopStyle'), 'solid');
  assert.equal(await look(page.getByRole('button', { name: 'Send' }), 'borderTopStyle'), 'solid');
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ forcedColors: 'none', colorScheme });
    await until(async () => (await look(page.getByRole('button', { name: 'Send' }), 'opacity')) === '1');
    const contrast = await page.getByRole('button', { name: 'Send' }).evaluate(async (button) => {
      // From one scheme's colours to the other's; a transition that begins anew breaks off the one before.
      for (let running; (running = button.getAnimations()).length; ) await Promise.allSettled(running.map((one) => one.finished));
      const light = (color) => {
        const canvas = new OffscreenCanvas(1, 1).getContext('2d');
        canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((one) => (one / 255 <= 0.03928 ? one / 255 / 12.92 : ((one / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const [a, b] = [light(getComputedStyle(button).color), light(getComputedStyle(button).backgroundColor)].sort((x, y) => y - x);
      return (a + 0.05) / (b + 0.05);
    });
    assert.ok(contrast >= 3, `the arrow has a contrast of ${contrast} in ${colorScheme}`);
  }
  right(page);
});
