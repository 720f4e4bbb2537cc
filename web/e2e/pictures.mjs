// Takes the pictures in docs/page: every page in light and dark, of a small harbour office on a server of its own. Its
// models are scripted here; its older days are written into the database. `make pictures` runs it.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { browser, open, right, Server, until } from './harness.mjs';

const out = path.resolve(process.argv[2] ?? 'docs/page');

const LAMP = `The lamp turns every **15 seconds**. Three things follow for the night watch:

1. A keeper who sleeps misses 240 turns an hour.
2. The mechanism needs winding twice a night.
3. A fog signal is *still* needed: light does not carry in fog.

\`\`\`go
// flashes counts what a ship sees in a watch of four hours.
func flashes(period time.Duration) int {
	return int(4 * time.Hour / period)
}
\`\`\`

| Lamp | Range | Period |
|---|---|---|
| first order | 18 nm | 15 s |
| fourth order | 12 nm | 10 s |

> "The light must not go out." — the rule of the service`;

const SHIPS = `Four ships passed last night:

- **Aurora**, 22:10, inbound
- **Meridian**, 23:45, outbound
- **Petrel**, 02:30, inbound, pilot aboard
- **Sans Souci**, 04:05, outbound

The Petrel answered the fog signal; the others came by on clear sky.`;

const PLAN = `## Monday
Clean the lenses; the boat comes at 10:00 with oil, flour and letters.

## Thursday
Test the fog signal and log the pressure.

## Friday
Wind the clockwork through its whole length and oil it.`;

// What the models answer: calls first, then a text.
const ANSWERS = {
  'How often does the lamp turn, and what does that mean for the night watch?': { thought: 'The notes have the period.', calls: [['read_file', { path: 'notes/lamp.md' }], ['current_time', {}]], text: LAMP },
  'And in fog?': { text: 'In fog the horn takes over: **two blasts every 90 seconds**, from the moment the far buoy cannot be seen until it is seen again. The lamp stays lit all the same.' },
  'What about a lamp of the fourth order?': { text: 'A fourth-order lamp turns every 10 seconds and reaches 12 nautical miles: enough for the inner harbour, not for the reef.' },
  'Which ships passed last night?': { thought: 'The log has them.', calls: [['read_file', { path: 'notes/log.md' }], ['read_file', { path: 'notes/missing.md' }]], text: SHIPS },
  'Close the harbour tonight: a storm is coming.': { thought: 'A notice closes it; the file has to say until when.', calls: [['write_file', { path: 'notes/closing.md', text: '# Harbour closed\n\nFrom 18:00 until the wind falls below force 8.\nBoats at the outer moorings: move in by 17:00.\n' }]], text: 'The notice is written.' },
  'Plan the week for two keepers.': { text: PLAN },
  'Where can the Aurora moor?': { text: 'The Aurora can have the inner mooring: she draws 4 metres, and it has 5 at low water.' },
  'Who has the watch on Sunday?': { text: 'Ines has it until midnight, Tom after that.' },
  'Which paint does the gallery rail need?': { text: 'Two coats of white lead-free enamel, on a day without salt spray.' },
  'Is the fog signal due for a test?': { text: 'Yes: the last one was on the 3rd, and it is tested every fortnight.' },
  'Draft a notice about the cleaning.': { text: 'The lamp is dark on Thursday between 09:00 and 11:00 for cleaning. The fog signal stands by. Keep two cables clear of the landing.' },
};

// provider is a server that speaks OpenAI's wire and answers as above. It caches equal beginnings.
function provider() {
  const seen = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (piece) => (body += piece));
    request.on('end', () => {
      const { messages, tools = [] } = JSON.parse(body);
      const asked = messages.findLast((one) => one.role === 'user')?.content;
      const text = Array.isArray(asked) ? asked.map((one) => one.text ?? '').join('') : String(asked);
      const answer = ANSWERS[Object.keys(ANSWERS).find((one) => text.includes(one))] ?? { text: 'Noted.' };
      const calls = messages.at(-1).role === 'user' ? (answer.calls ?? []) : [];
      const prompt = JSON.stringify([tools, messages]);
      const tokens = (length) => Math.round(length / 4);
      const shared = Math.max(0, ...seen.map((one) => [...one].findIndex((c, i) => c !== prompt[i])).map((n, i) => (n < 0 ? seen[i].length : n)));
      seen.push(prompt);
      const chunk = (delta, finish = null) => response.write(`data: ${JSON.stringify({ id: 'a', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      const words = calls.length > 0 ? '' : answer.text;
      setTimeout(() => {
        if (answer.thought && messages.at(-1).role === 'user') chunk({ reasoning_content: answer.thought });
        for (let at = 0; at < words.length; at += 40) chunk({ content: words.slice(at, at + 40) });
        calls.forEach(([name, given], index) => chunk({ tool_calls: [{ index, id: `call_${seen.length}_${index}`, type: 'function', function: { name, arguments: JSON.stringify(given) } }] }));
        chunk({}, calls.length > 0 ? 'tool_calls' : 'stop');
        const usage = { prompt_tokens: tokens(prompt.length), completion_tokens: tokens(words.length) + 12 * calls.length, prompt_tokens_details: { cached_tokens: tokens(shared) > 64 ? tokens(shared) : 0 } };
        response.write(`data: ${JSON.stringify({ id: 'a', object: 'chat.completion.chunk', choices: [], usage })}\n\ndata: [DONE]\n\n`);
        response.end();
      }, 200);
    });
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

const models = await provider();
const above = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-')));
const home = path.join(above, 'harbour');
for (const one of ['lighthouse/notes', 'lighthouse/charts', 'moorings', 'boats/aurora']) mkdirSync(path.join(home, one), { recursive: true });
writeFileSync(path.join(home, 'lighthouse/notes/lamp.md'), 'Period: 15 s. Winding: at dusk and at two.\n');
writeFileSync(path.join(home, 'lighthouse/notes/log.md'), '22:10 Aurora in\n23:45 Meridian out\n02:30 Petrel in\n04:05 Sans Souci out\n');
const server = new Server();
server.data = mkdtempSync(path.join(tmpdir(), 'parley-page-'));
server.flags = [];
server.port = 0;
process.env.PARLEY_PROJECT_ROOTS = home;
process.env.HARBOUR_KEY = 'unused';
writeFileSync(path.join(server.data, 'parley.yaml'), `model: local/harbour-large
providers:
  - {name: local, kind: openai, base_url: "http://127.0.0.1:${models.address().port}/v1", key_env: HARBOUR_KEY}
models:
  - {id: local/harbour-large, context_length: 128000, max_output: 16000, reasoning: true, tools: true, caching: true, price: {input: 3, output: 15, cached_input: 0.3}}
  - {id: local/harbour-small, context_length: 32000, max_output: 4000, tools: true, caching: true, price: {input: 0.4, output: 1.6, cached_input: 0.04}}
`);
let chrome;
try {
  await server.begin();
  const agent = (name, fields) => server.ask('POST', '/v1/agents', { name, ...fields });
  const keeper = await agent('Keeper', { description: 'Keeps the light, and knows the notes.', system_prompt: 'You keep the lighthouse of {{project.name}}. Read the notes before you answer, and name what you have read.', tools: ['current_time', 'list_files', 'read_file', 'search_files', 'write_file'], tags: ['harbour'] });
  const pilot = await agent('Pilot', { description: 'Plans ships, weeks and moorings.', model: 'local/harbour-small', system_prompt: 'You plan.', tools: ['current_time', 'list_files', 'read_file', 'search_files'] });
  const clerk = await agent('Clerk', { description: 'Writes notices.', model: 'local/harbour-small', system_prompt: 'You write short notices.', tools: ['current_time', 'read_file', 'write_file'] });
  await server.ask('PATCH', `/v1/agents/${keeper.id}`, { temperature: 0.3, description: 'Keeps the light, reads the notes, and writes notices.' });
  const project = await server.ask('POST', '/v1/projects', { path: path.join(home, 'lighthouse'), icon: '🗼' });
  await server.ask('POST', '/v1/projects', { path: path.join(home, 'moorings'), icon: '⚓' });
  const begin = async (agent, title, text, ...more) => {
    const session = await server.ask('POST', '/v1/sessions', { agent_id: agent.id, title, project_id: agent === keeper ? project.id : null, message: { content: { text } } });
    await over(session.id);
    for (const next of more) {
      await server.ask('POST', `/v1/sessions/${session.id}/messages`, { content: { text: next } });
      await over(session.id);
    }
    return session;
  };
  const over = (id) => until(async () => ['completed', 'waiting'].includes((await server.ask('GET', `/v1/sessions/${id}`)).status), `session ${id} has ended or waits`);
  const older = [
    [await begin(clerk, 'Draft a notice about the cleaning', 'Draft a notice about the cleaning.'), 8],
    [await begin(pilot, 'Plan the week for two keepers', 'Plan the week for two keepers.', 'Who has the watch on Sunday?'), 8],
    [await begin(keeper, 'Is the fog signal due for a test?', 'Is the fog signal due for a test?'), 6],
    [await begin(keeper, 'Paint for the gallery rail', 'Which paint does the gallery rail need?', 'And in fog?'), 5],
    [await begin(pilot, 'Who has the watch on Sunday?', 'Who has the watch on Sunday?', 'Plan the week for two keepers.', 'And in fog?'), 4],
    [await begin(clerk, 'The closing in plain words', 'Draft a notice about the cleaning.', 'And in fog?'), 3],
    [await begin(keeper, 'The lamp, for a visitor', 'How often does the lamp turn, and what does that mean for the night watch?'), 3],
    [await begin(pilot, 'Moorings for the Aurora', 'Where can the Aurora moor?', 'And in fog?', 'Who has the watch on Sunday?'), 1],
  ];
  const week = await begin(pilot, 'Plan of the week', 'Plan the week for two keepers.');
  await server.ask('PATCH', `/v1/sessions/${week.id}`, { pinned: true });
  const ships = await begin(keeper, 'Which ships passed?', 'Which ships passed last night?');
  const lamp = await begin(keeper, 'The lamp and the night watch', 'How often does the lamp turn, and what does that mean for the night watch?', 'And in fog?');
  const record = (await server.ask('GET', `/v1/sessions/${lamp.id}/messages?limit=100`)).data;
  const fork = await server.ask('POST', `/v1/sessions/${lamp.id}/fork`, { at: record.at(-3).id, title: 'The lamp: a smaller one' });
  await server.ask('POST', `/v1/sessions/${fork.id}/messages`, { content: { text: 'What about a lamp of the fourth order?' } });
  await over(fork.id);
  const storm = await begin(keeper, 'Close the harbour?', 'Close the harbour tonight: a storm is coming.');
  await server.kill('SIGTERM');
  age(path.join(server.data, 'parley.db'), older);
  await server.begin();

  chrome = await browser();
  const call = (await server.ask('GET', `/v1/sessions/${lamp.id}/calls`)).data[0];
  await until(async () => (await server.ask('GET', '/v1/search?q=fog+signal')).data.length > 2, 'the messages are indexed');
  const pages = {
    chat: [`/c/${lamp.id}`, settledAnswer], tools: [`/c/${ships.id}`, unfolded],
    approval: [`/c/${storm.id}`, (page) => page.getByRole('button', { name: 'Approve once' }).waitFor()],
    context: [`/c/${lamp.id}?panel=context`, (page) => page.getByText('What the model can still read').waitFor()],
    outline: [`/c/${lamp.id}?panel=outline`, settledAnswer], forks: [`/c/${fork.id}?panel=lineage`, settledAnswer],
    inspector: [`/c/${lamp.id}/inspect?row=call-${call.id}`, (page) => page.getByText('What the model saw').waitFor()],
    search: ['/search?q=fog+signal', (page) => page.locator('[data-hit]').nth(2).waitFor()], inbox: ['/inbox', (page) => page.getByText('write_file').first().waitFor()],
    agents: ['/agents', (page) => page.locator('main').getByText('Keeper').waitFor()], agent: [`/agents/${keeper.id}`, (page) => page.getByLabel('System prompt').waitFor()],
    projects: ['/projects', (page) => page.locator('main').getByText('moorings').first().waitFor()], project: [`/projects/${project.id}`, (page) => page.locator('main').getByText('Close the harbour?').waitFor()],
    directories: ['/projects', (page) => page.getByRole('button', { name: 'Add a directory' }).click()],
    usage: ['/usage', (page) => page.getByRole('button', { name: 'Models' }).or(page.getByRole('radio', { name: 'Models' })).or(page.getByText('Models', { exact: true })).first().click()],
    audit: ['/audit', (page) => page.getByRole('row').nth(3).waitFor()], settings: ['/settings/models', (page) => page.getByText('local/harbour-small').waitFor()],
    shortcuts: [`/c/${lamp.id}`, async (page) => { await settledAnswer(page); await page.keyboard.press('?'); }],
    palette: [`/c/${lamp.id}`, async (page) => { await settledAnswer(page); await page.keyboard.press('Control+k'); await page.keyboard.type('ships'); }],
    new: ['/new', (page) => page.getByText('What shall we talk about?').waitFor()],
    phone: [`/c/${lamp.id}`, settledAnswer],
  };
  for (const colorScheme of ['light', 'dark']) {
    for (const [name, [address, ready]] of Object.entries(pages)) {
      const size = name === 'phone' ? { viewport: { width: 390, height: 780 }, deviceScaleFactor: 2, hasTouch: true } : { viewport: { width: 1280, height: 800 } };
      const context = await chrome.newContext({ colorScheme, reducedMotion: 'reduce', ...size });
      const page = await open(context, server, address);
      await ready(page);
      await until(async () => (await page.locator('[role=status]', { hasText: 'Loading' }).count()) === 0, `${name} has loaded`);
      let before, now; // the page is at rest when two pictures are the same
      await until(async () => ([before, now] = [now, await page.screenshot()])[0]?.equals(now), `${name} is at rest`);
      writeFileSync(path.join(out, `${name}-${colorScheme}.png`), now);
      right(page);
      await context.close();
    }
  }
} finally {
  await chrome?.close();
  await server.end();
  models.close();
  rmSync(above, { recursive: true, force: true });
}

// settledAnswer waits until a conversation's last answer is shown.
function settledAnswer(page) {
  return page.locator('article[aria-label^="Answer"]').last().getByRole('button', { name: 'Fork from here' }).waitFor({ state: 'attached' });
}

// unfolded shows the tools of a conversation with their arguments and results.
async function unfolded(page) {
  const tools = page.getByRole('region', { name: /^Tools/ });
  await tools.getByRole('button', { expanded: false }).click();
  await tools.getByText('does not exist').waitFor();
}

// age moves sessions and their calls some days into the past, with SQLite's own shell.
function age(file, sessions) {
  const moves = sessions.flatMap(([session, days]) => {
    const id = `x'${session.id.replaceAll('-', '')}'`;
    const by = days * 24 * 60 * 60 * 1000;
    return [`UPDATE sessions SET created_at = created_at - ${by}, updated_at = updated_at - ${by} WHERE id = ${id}`, `UPDATE calls SET created_at = created_at - ${by} WHERE session_id = ${id}`];
  });
  execFileSync('sqlite3', [file, moves.join(';')]);
}
