// Streaming in a busy page: with a fully loaded list of 2,000 conversations in which
// others start and end, and with a card of many tool calls whose results arrive.
import { median, Meter, pause, until } from './lab.mjs';

const VIEWPORT = { width: 1200, height: 800 };
const SESSIONS = 2_000;
const PAGES = 40; // in which the list loads them
const BESIDE = 8; // turns of other conversations meanwhile, one per second
const STREAMED = 12_000; // bytes
const CALLS = 60;

async function metered(page, run) {
  const meter = await Meter.of(page);
  await meter.start();
  await run();
  return meter.stop();
}

// listed streams an answer with a number of pages of the list loaded, and counts the
// requests for the list meanwhile.
async function listed(lab, context, others, pages) {
  const text = JSON.stringify([[{ text: lab.text.slice(0, STREAMED), token_ms: 5 }]]);
  const { id } = await lab.ask('POST', '/v1/sessions', { model: 'sim/script' });
  const page = await context.newPage();
  let asked = 0;
  page.on('requestfinished', (request) => /\/v1\/sessions\?/.test(request.url()) && asked++);
  await page.goto(`${lab.server.url}/c/${id}`);
  const older = page.getByRole('button', { name: 'Show older' });
  for (let n = 1; n < pages; n++) {
    await older.click();
    await until(() => asked > n, 'the next page of the list');
  }
  await pause(500);
  asked = 0;
  const took = await metered(page, async () => {
    await lab.ask('POST', `/v1/sessions/${id}/messages`, { role: 'user', content: { text } });
    for (const other of others.slice(0, BESIDE)) {
      await pause(1_000);
      await lab.ask('POST', `/v1/sessions/${other}/messages`, { role: 'user', content: { text: 'Hello' } });
    }
    await until(() => lab.ended(id), 'the answer is whole');
    await pause(500);
  });
  await page.close();
  return { ...took, asked };
}

// carded lets the results of many calls arrive in one open card.
async function carded(lab, context, agent) {
  const calls = Array.from({ length: CALLS }, (_, n) => ({ tool_call: { name: 'look_up', arguments: { question: `What is number ${n}? `.repeat(10) } } }));
  const text = JSON.stringify([calls, [{ text: 'That is all.' }]]);
  const result = Array.from({ length: 100 }, (_, n) => ({ row: n, name: `The row of number ${n}`, note: 'some words that make it longer '.repeat(4) }));
  const { id } = await lab.ask('POST', '/v1/sessions', { model: 'sim/script', agent_id: agent, message: { role: 'user', content: { text } } });
  await until(async () => (await lab.ask('GET', `/v1/sessions/${id}`)).status === 'waiting', 'the calls wait');
  const page = await context.newPage();
  await page.goto(`${lab.server.url}/c/${id}`);
  await page.locator('button[aria-expanded=false]', { hasText: 'look_up' }).first().click();
  const asked = (await lab.ask('GET', `/v1/sessions/${id}/messages?limit=500`)).data.filter((message) => message.role === 'tool_call');
  const took = await metered(page, async () => {
    for (const call of asked) await lab.ask('POST', `/v1/sessions/${id}/messages`, { role: 'tool_result', tool_call_id: call.tool_call_id, content: { result } });
    await until(() => lab.ended(id), 'the turn is over');
    await pause(500);
  });
  await page.close();
  return took;
}

export async function crowded(lab, chrome, rounds, say) {
  const others = [];
  while (others.length < SESSIONS) {
    const made = await Promise.all(Array.from({ length: 50 }, (_, i) => lab.ask('POST', '/v1/sessions', { title: `Conversation ${others.length + i}`, model: 'sim/echo' })));
    others.push(...made.map(({ id }) => id));
  }
  const parameters = { type: 'object', properties: { question: { type: 'string' } } };
  const { id: agent } = await lab.ask('POST', '/v1/agents', { name: 'Asks', tools: [{ name: 'look_up', description: 'Answers a question.', parameters }] });
  const context = await chrome.newContext({ viewport: VIEWPORT });
  const short = [], long = [], cards = [];
  for (let round = 0; round < rounds; round++) {
    for (const [runs, pages] of round % 2 ? [[long, PAGES], [short, 1]] : [[short, 1], [long, PAGES]]) runs.push(await listed(lab, context, others, pages));
    cards.push(await carded(lab, context, agent));
  }
  await context.close();
  const of = (runs, name) => median(runs.map((run) => run[name]));
  for (const [name, runs] of [['50 sessions listed', short], [`${SESSIONS} sessions listed`, long], [`${CALLS} results in an open card`, cards]]) {
    say(`  ${name}: script ${of(runs, 'script').toFixed(2)} s, tasks ${of(runs, 'task').toFixed(2)}, longest task ${Math.max(...runs.map((run) => run.longest)).toFixed(0)} ms`);
  }
  return [
    { name: `script time while streaming with ${SESSIONS} sessions listed, to that with 50`, value: of(long, 'script') / of(short, 'script'), unit: '×', bound: 1.5 },
    { name: 'requests for the list meanwhile, to those with 50', value: of(long, 'asked') / of(short, 'asked'), unit: '×', bound: 1.5 },
    { name: 'longest task of all these, of the processor’s time', value: Math.max(...[...short, ...long, ...cards].map((run) => run.longest)), unit: ' ms', bound: 100 },
  ];
}
