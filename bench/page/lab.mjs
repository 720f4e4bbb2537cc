// The basis of the figures: conversations to look at, and the counters of a browser tab.
import { createServer, request as ask } from 'node:http';
import { readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Server, until } from '../../web/e2e/harness.mjs';
import { answer } from './text.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));

export { until };
export const ANSWER_BYTES = 40_000;
export const TOKEN_MS = 5; // 200 tokens a second

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const median = (values) => [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)];
export const load = () => os.loadavg()[0].toFixed(1);

// Lab is a server with its data folder, both ended by close.
export class Lab {
  static async open() {
    const lab = new Lab();
    lab.server = await Server.start();
    lab.text = answer(ANSWER_BYTES);
    lab.each = await eachToken(lab.server.url);
    return lab;
  }

  async close() {
    this.each?.close();
    await this.server?.end();
  }

  ask(method, address, body) {
    return this.server.ask(method, address, body);
  }

  // told posts messages without turns into a session, alternating questions and answers.
  async told(id, count, textOf = (n) => `Message ${n}. ${'A few more words that fill a line. '.repeat(n % 9)}`) {
    for (let n = 1; n <= count; n++) {
      const role = n % 2 ? 'user' : 'assistant';
      await this.ask('POST', `/v1/sessions/${id}/messages`, { role, content: { text: textOf(n) }, ...(role === 'user' ? { respond: false } : {}) });
    }
  }

  // scripted is a session whose next turn streams the long answer, with a number of
  // milliseconds per token.
  async scripted(history = 40) {
    const session = await this.ask('POST', '/v1/sessions', { model: 'sim/script' });
    await this.told(session.id, history);
    const text = JSON.stringify([[{ text: this.text, token_ms: TOKEN_MS }]]);
    await this.ask('POST', `/v1/sessions/${session.id}/messages`, { role: 'user', respond: false, content: { text } });
    // Enough messages after it that it is not drawn.
    for (let n = 1; n <= 20; n++) await this.ask('POST', `/v1/sessions/${session.id}/messages`, { role: 'user', respond: false, content: { text: `Line ${n}` } });
    return session.id;
  }

  go(id) {
    return this.ask('POST', `/v1/sessions/${id}/messages`, { role: 'user', content: { text: 'Go on' } });
  }

  async ended(id) {
    return ['completed', 'failed', 'cancelled'].includes((await this.ask('GET', `/v1/sessions/${id}`)).status);
  }
}

// eachToken forwards everything to Parley, and requests each token as a delta of its own,
// where the server would merge those of 120 ms. It also serves the naive page, since a
// page may only call its own server.
function eachToken(target) {
  const files = {
    '/naive': ['text/html', path.join(here, 'naive.html')],
    '/naive.mjs': ['text/javascript', path.join(here, 'naive.mjs')],
    '/marked.mjs': ['text/javascript', path.join(here, '../../web/node_modules/marked/lib/marked.esm.js')],
  };
  const server = createServer((request, response) => {
    const file = files[request.url];
    if (file) {
      response.writeHead(200, { 'Content-Type': file[0] }).end(readFileSync(file[1]));
      return;
    }
    const address = request.url.startsWith('/v1/events') ? `${request.url}&flush_ms=0` : request.url;
    const headers = { ...request.headers, host: new URL(target).host, ...(request.headers.origin ? { origin: target } : {}) };
    const passed = ask(target + address, { method: request.method, headers }, (answered) => {
      response.writeHead(answered.statusCode, answered.headers);
      answered.pipe(response);
    });
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    request.pipe(passed);
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      resolve({
        url: `http://127.0.0.1:${server.address().port}`,
        close() {
          server.closeAllConnections();
          server.close();
        },
      });
    });
  });
}

// Meter counts the work of a tab from start to stop: seconds of script, style, layout and
// tasks, frames, and its longest task in milliseconds, both of processor time (without
// waiting for other programs) and of wall-clock time.
export class Meter {
  static async of(page) {
    const meter = new Meter();
    meter.page = page;
    meter.tasks = new Tasks(await page.context().browser().newBrowserCDPSession());
    meter.protocol = await page.context().newCDPSession(page);
    await meter.protocol.send('Performance.enable', { timeDomain: 'threadTicks' }); // excludes other programs
    return meter;
  }

  async #counted() {
    const { metrics } = await this.protocol.send('Performance.getMetrics');
    return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
  }

  async start() {
    await this.page.evaluate(() => {
      const count = { frames: 0, long: [], on: true, began: performance.now() };
      globalThis.counted = count;
      const frame = () => {
        count.frames++;
        if (count.on) requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
      new PerformanceObserver((list) => count.long.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: 'longtask' });
    });
    await this.tasks.start();
    this.before = await this.#counted();
  }

  async stop() {
    const after = await this.#counted();
    const own = await this.page.evaluate(() => {
      globalThis.counted.on = false;
      return { frames: globalThis.counted.frames, long: globalThis.counted.long, seconds: (performance.now() - globalThis.counted.began) / 1000 };
    });
    own.longest = await this.tasks.stop();
    const spent = (name) => after[name] - this.before[name];
    return {
      ...own, perSecond: own.frames / own.seconds,
      script: spent('ScriptDuration'), layout: spent('LayoutDuration'), style: spent('RecalcStyleDuration'), task: spent('TaskDuration'),
    };
  }
}

// Tasks traces the tasks of the browser's pages.
class Tasks {
  constructor(protocol) {
    this.protocol = protocol;
  }

  async start() {
    this.events = [];
    this.protocol.on('Tracing.dataCollected', ({ value }) => this.events.push(...value));
    await this.protocol.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig: { includedCategories: ['toplevel'] } });
  }

  // stop returns the processor time of the longest task, in milliseconds, on the page's
  // busiest thread.
  async stop() {
    const complete = new Promise((resolve) => this.protocol.once('Tracing.tracingComplete', resolve));
    await this.protocol.send('Tracing.end');
    await complete;
    const thread = ({ pid, tid }) => `${pid} ${tid}`;
    const pages = new Set(this.events.filter((event) => event.name === 'thread_name' && event.args.name === 'CrRendererMain').map(thread));
    const spent = new Map();
    for (const event of this.events) {
      if (event.ph !== 'X' || !pages.has(thread(event))) continue;
      const known = spent.get(thread(event)) ?? { sum: 0, longest: 0 };
      spent.set(thread(event), { sum: known.sum + (event.tdur ?? 0), longest: Math.max(known.longest, event.tdur ?? 0) });
    }
    await this.protocol.detach();
    const busiest = [...spent.values()].sort((a, b) => b.sum - a.sum)[0];
    if (!busiest) throw new Error('no task was traced');
    return busiest.longest / 1000;
  }
}
