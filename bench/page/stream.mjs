// Streaming a long answer: its cost for a tab, for the naive page, and for an idle tab.
import { Lab, Meter, median, until } from './lab.mjs';

const VIEWPORT = { width: 1200, height: 800 };

// streamed lets a tab watch the whole answer and measures the cost.
export async function streamed(lab, context, { naive, merged }) {
  const id = await lab.scripted();
  const page = await context.newPage();
  await page.setViewportSize(VIEWPORT);
  if (naive) {
    const { last_event_sequence: after } = await lab.ask('GET', `/v1/sessions/${id}`);
    await page.goto(`${lab.each.url}/naive#${id}:${after}`);
  } else {
    await page.goto(`${merged ? lab.server.url : lab.each.url}/c/${id}`);
    await page.getByText('Line 20').waitFor();
  }
  const meter = await Meter.of(page);
  await meter.start();
  await lab.go(id);
  await until(() => lab.ended(id), 'the answer is whole', 180_000);
  if (naive) await page.locator('body[data-done]').waitFor({ timeout: 180_000 });
  else await page.locator('article[aria-label^="Answer"][aria-busy=false]', { hasText: 'Ten parts of' }).last().waitFor();
  const took = await meter.stop();
  took.deltas = naive ? await page.evaluate(() => globalThis.deltas) : 0;
  took.id = id;
  await page.close();
  return took;
}

// idle measures an idle conversation, for as long as the answer took.
async function idle(lab, context, id, seconds) {
  const page = await context.newPage();
  await page.setViewportSize(VIEWPORT);
  await page.goto(`${lab.server.url}/c/${id}`);
  await page.locator('article').first().waitFor();
  const meter = await Meter.of(page);
  await meter.start();
  await page.waitForTimeout(seconds * 1000);
  const took = await meter.stop();
  await page.close();
  return took;
}

export async function streaming(lab, chrome, rounds, say) {
  const context = await chrome.newContext();
  const parley = [], merged = [], naive = [], quiet = [];
  for (let round = 0; round < rounds; round++) {
    const turns = [
      async () => parley.push(await streamed(lab, context, { naive: false })),
      async () => merged.push(await streamed(lab, context, { merged: true })),
      async () => naive.push(await streamed(lab, context, { naive: true })),
    ];
    if (round % 2) turns.reverse();
    for (const turn of turns) await turn();
    quiet.push(await idle(lab, context, parley.at(-1).id, parley.at(-1).seconds));
  }
  await context.close();
  const of = (runs, name) => median(runs.map((run) => run[name]));
  for (const [name, runs] of [['page, each token', parley], ['page, as it is', merged], ['naive', naive], ['idle', quiet]]) {
    say(`  ${name}: ${of(runs, 'seconds').toFixed(1)} s, script ${of(runs, 'script').toFixed(2)} s, style ${of(runs, 'style').toFixed(2)}, layout ${of(runs, 'layout').toFixed(2)}, tasks ${of(runs, 'task').toFixed(2)}, ${of(runs, 'perSecond').toFixed(1)} frames/s, longest task ${Math.max(...runs.map((run) => run.longest)).toFixed(0)} ms, by the clock ${Math.max(0, ...runs.flatMap((run) => run.long)).toFixed(0)} ms${runs[0].deltas ? `, ${of(runs, 'deltas')} deltas` : ''}`);
  }
  const long = Math.max(...[...parley, ...merged].map((run) => run.longest));
  const less = median(parley.map((run, i) => naive[i].script / run.script));
  const frames = median(parley.map((run, i) => run.perSecond / quiet[i].perSecond));
  return [
    { name: `script time of a naive re-render of ${(lab.text.length / 1000).toFixed(0)} KB at 200 tokens/s, to the page's`, value: less, unit: '×', bound: 10, least: true },
    { name: 'frames while streaming, to an idle page’s', value: frames * 100, unit: ' %', bound: 95, least: true },
    { name: 'longest task while streaming, of the processor’s time', value: long, unit: ' ms', bound: 100 },
  ];
}
