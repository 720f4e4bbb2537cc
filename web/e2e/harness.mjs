// The basis of the page's tests: the real binary, and a real Chromium.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { chromium } from 'playwright-core';

const binary = required('PARLEY_E2E_BINARY');
const DEADLINE = Number(process.env.PARLEY_E2E_DEADLINE ?? 60_000); // milliseconds; a test that takes longer hangs

function required(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run these tests by go test ./e2e/page`);
  return value;
}

// Tests that do not depend on the database run on only one of them. The others are
// skipped visibly: a file without any test would never close the browser of its `before`.
export const once = process.env.PARLEY_DATABASE_URL ? (name) => test(name, { skip: 'it runs on SQLite' }) : test;

// Server is one `parley serve` that can be killed and restarted on the same data.
export class Server {
  static start(...flags) {
    return Server.with({}, ...flags);
  }

  // with starts one that has these settings in its file.
  static async with(settings, ...flags) {
    const server = new Server();
    server.data = mkdtempSync(path.join(tmpdir(), 'parley-page-'));
    writeFileSync(path.join(server.data, 'parley.yaml'), JSON.stringify(settings));
    server.flags = flags;
    server.port = 0;
    await server.begin();
    return server;
  }

  async begin() {
    this.process = spawn(binary, ['serve', '--data', this.data, '--addr', `127.0.0.1:${this.port}`, ...this.flags], { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    this.process.stderr.on('data', (chunk) => (said += chunk));
    this.url = await new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`the server did not start: ${said}`)), DEADLINE);
      let out = '';
      this.process.stdout.on('data', (chunk) => {
        out += chunk;
        const found = /listens on (\S+)/.exec(out);
        if (found) {
          clearTimeout(timer);
          resolve(found[1]);
        }
      });
      this.process.on('exit', (code) => reject(new Error(`the server ended with ${code}: ${said}`)));
    });
    this.port = Number(new URL(this.url).port);
  }

  async kill(signal = 'SIGKILL') {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    this.process.kill(signal);
    await ended;
  }

  async end() {
    await this.kill();
    rmSync(this.data, { recursive: true, force: true });
  }

  async ask(method, address, body, headers = {}) {
    const response = await fetch(this.url + address, {
      method,
      headers: { ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${address}: ${response.status} ${text}`);
    return text ? JSON.parse(text) : null;
  }

  // session begins a conversation with a first message.
  session(text, fields = {}) {
    return this.ask('POST', '/v1/sessions', { model: 'sim/echo', ...fields, message: { role: 'user', content: { text } } });
  }

  // stopped cancels a session's turn, and returns the text of the last answer.
  async stopped(id) {
    await this.ask('POST', `/v1/sessions/${id}/cancel`, { queued: true });
    return (await this.settled(id)).findLast((one) => one.role === 'assistant').content.text;
  }

  // settled waits for a session's turns to end and returns its messages.
  async settled(id) {
    await until(async () => ['completed', 'failed', 'cancelled'].includes((await this.ask('GET', `/v1/sessions/${id}`)).status));
    return (await this.ask('GET', `/v1/sessions/${id}/messages?limit=500`)).data;
  }
}

const PAUSE = 50; // milliseconds between two looks, each of which takes a few of the processor's

// until polls a condition until the deadline.
export async function until(holds, what = String(holds)) {
  const end = Date.now() + DEADLINE;
  for (;;) {
    if (await holds()) return;
    assert.ok(Date.now() < end, `not within ${DEADLINE} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

// The headless shell is Chromium without windows, extensions and the rest of a desktop's browser: the same engine for a
// quarter less processor time.
const SHELL = '/usr/bin/chromium-headless-shell';

export function browser() {
  return chromium.launch({
    executablePath: process.env.PARLEY_CHROMIUM ?? (existsSync(SHELL) ? SHELL : '/usr/bin/chromium'),
    // --process-per-site: tabs share a process and the code that it has compiled.
    args: ['--no-sandbox', '--process-per-site', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
}

// open opens a tab that fails its test for problems invisible to a person: script errors,
// violations of the content security policy, requests to other hosts. prepare is called
// with the tab before it loads anything.
export async function open(context, server, address, prepare) {
  const page = await context.newPage();
  await prepare?.(page);
  page.wrong = [];
  page.on('pageerror', (error) => page.wrong.push(`error: ${error.message}`));
  page.on('console', (message) => message.type() === 'error' && !/Failed to load resource|ERR_|the server responded/.test(message.text()) && page.wrong.push(message.text()));
  page.on('request', (request) => !request.url().startsWith(server.url) && !/^(data|blob):/.test(request.url()) && page.wrong.push(`asked for ${request.url()}`));
  page.setDefaultTimeout(DEADLINE);
  await page.goto(server.url + address);
  return page;
}

export function right(page) {
  assert.deepEqual(page.wrong, []);
}

export const sha256 = (text) => createHash('sha256').update(text).digest('hex');

// sha256OfAnswer is the hash of the last answer as the page has it.
export async function lastAnswer(page) {
  return page.locator('article[aria-label^="Answer"] .prose-chat').last().innerText();
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// accessible fails if axe finds a problem; with rules, only theirs are looked for.
export async function accessible(page, where, rules) {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe);
  // Half-way between two colours is no contrast that anybody reads. A transition may begin with the next frame only, so
  // there are none from here on.
  await page.evaluate(() => {
    if (globalThis.still) return;
    globalThis.still = new CSSStyleSheet();
    globalThis.still.replaceSync('*, *::before, *::after { transition: none !important }');
    document.adoptedStyleSheets.push(globalThis.still);
  });
  const { violations } = await page.evaluate(
    (only) => globalThis.axe.run(document, { resultTypes: ['violations'], ...(only && { runOnly: only }) }),
    rules,
  );
  const found = violations.map((one) => `${one.id}: ${one.help}\n    ${one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 200)} ${node.failureSummary.split('\n')[1] ?? ''}`).join('\n    ')}`);
  assert.deepEqual(found, [], `axe at ${where}:\n${found.join('\n')}`);
}
