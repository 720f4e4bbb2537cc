// Tool servers that want something of a person: to be authorized, and answers in the middle of a call.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { accessible, browser, once, open, Server, until } from './harness.mjs';

const FORM = {
  type: 'object',
  required: ['where', 'copies'],
  properties: {
    where: { type: 'string', title: 'Where', description: 'The live one has users.', enum: ['test', 'live'] },
    copies: { type: 'integer', title: 'Copies', minimum: 1, maximum: 9, default: 2 },
    note: { type: 'string', title: 'Note <b>', maxLength: 20 },
    sure: { type: 'boolean', title: 'Tell the others', default: true },
  },
};

// Cloud is a tool server, behind the authorization server that it names.
class Cloud {
  heard = []; // what people answered
  refuses = false;
  codes = new Set();

  async start() {
    this.web = createServer((request, response) => {
      let body = '';
      request.on('data', (piece) => (body += piece));
      request.on('end', () => this.serve(new URL(request.url, this.url), request, body, response));
    });
    await new Promise((resolve) => this.web.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${this.web.address().port}`;
  }

  serve(url, { headers, method }, body, response) {
    const say = (value, status = 200, more = {}) => {
      response.writeHead(status, { 'Content-Type': 'application/json', ...more });
      response.end(JSON.stringify(value));
    };
    switch (url.pathname) {
      case '/mcp':
        if (!headers.authorization) return say({}, 401, { 'WWW-Authenticate': `Bearer resource_metadata="${this.url}/meta"` });
        if (method !== 'POST') return say({}, 405);
        return this.answer(JSON.parse(body), say);
      case '/meta':
        return say({ resource: `${this.url}/mcp`, authorization_servers: [this.url] });
      case '/.well-known/oauth-authorization-server':
        return say({ issuer: this.url, authorization_endpoint: `${this.url}/authorize`, token_endpoint: `${this.url}/token`, registration_endpoint: `${this.url}/register`, code_challenge_methods_supported: ['S256'] });
      case '/register':
        return say({ client_id: 'parley' });
      case '/authorize': {
        const to = (answer) => `${url.searchParams.get('redirect_uri')}?${new URLSearchParams({ ...answer, state: url.searchParams.get('state') })}`;
        const code = crypto.randomUUID();
        this.codes.add(code);
        response.writeHead(200, { 'Content-Type': 'text/html' });
        return response.end(`<title>Cloud</title><a href="${to({ code })}">Allow</a> <a href="${to({ error: 'access_denied' })}">Refuse</a>`);
      }
      case '/token':
        return this.codes.delete(new URLSearchParams(body).get('code')) ? say({ access_token: 'token', token_type: 'Bearer' }) : say({ error: 'invalid_grant' }, 400);
    }
    return say({}, 404);
  }

  answer({ id, method, params }, say) {
    const result = (value) => say({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...value } });
    switch (method) {
      case 'server/discover':
        return result({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } });
      case 'tools/list':
        return result({ tools: ['deploy', 'pay'].map((name) => ({ name, inputSchema: { type: 'object' }, annotations: { destructiveHint: false } })) });
      case 'tools/call': {
        const said = params.inputResponses?.one;
        if (said) {
          this.heard.push({ ...said, state: params.requestState });
          return result({ content: [{ type: 'text', text: `heard ${said.action}` }] });
        }
        const asks = params.name === 'pay' ? { mode: 'url', message: 'Pay first.', url: `${this.url}/pay?order=7`, elicitationId: '7' } : { mode: 'form', message: 'Deploy <i>where</i>?', requestedSchema: FORM };
        return result({ resultType: 'input_required', requestState: params.name, inputRequests: { one: { method: 'elicitation/create', params: asks } } });
      }
    }
    return say({ jsonrpc: '2.0', id, error: { code: -32601, message: 'unknown' } });
  }

  end() {
    this.web.closeAllConnections();
    this.web.close();
  }
}

let cloud, server, chrome, context;

before(async () => {
  cloud = new Cloud();
  [chrome] = await Promise.all([browser(), cloud.start()]);
  server = await Server.with({ mcp: [{ name: 'cloud', url: `${cloud.url}/mcp`, allow_private: true, oauth: {} }] });
  context = await chrome.newContext({ viewport: { width: 1200, height: 800 } });
});

after(async () => {
  await chrome?.close();
  await server?.end();
  cloud?.end();
});

// right fails for what was wrong in a tab that may go to the authorization server.
const right = (page) => assert.deepEqual(page.wrong.filter((one) => !one.startsWith(`asked for ${cloud.url}/`)), []);
const stateOf = async () => (await server.ask('GET', '/v1/tool-servers')).data[0].state;
const calls = (tool) => JSON.stringify([[{ tool_call: { name: `cloud__${tool}`, arguments: {} } }], [{ text: 'It is done.' }]]);

test('a tool server is authorized on the page, and then its tools ask there', async () => {
  const agent = await server.ask('POST', '/v1/agents', { name: `Deployer ${crypto.randomUUID().slice(0, 8)}`, model: 'sim/script', tools: ['cloud__*'] });
  const page = await open(context, server, '/settings/tool-servers');
  const row = page.locator('[data-tool-server=cloud]');
  await row.getByText('needs authorization').waitFor();
  await row.getByText('Nobody in this workspace has authorized it yet.').waitFor();
  await accessible(page, 'a tool server to authorize');

  // Somebody refuses over there.
  await row.getByRole('button', { name: 'Authorize: cloud' }).click();
  await page.getByRole('link', { name: 'Refuse' }).click();
  await page.getByRole('alert').getByText('access_denied').waitFor();
  assert.equal(new URL(page.url()).search, '', 'no answer stays in the address');
  await row.getByText('needs authorization').waitFor();

  // Agreed, from the agent's page.
  await page.goto(`${server.url}/agents/${agent.id}`);
  await page.getByText('needs to be authorized before').waitFor();
  await accessible(page, 'an agent whose tool server is to be authorized');
  await page.goto(`${server.url}/new?agent=${agent.id}`);
  await page.getByRole('button', { name: 'Authorize: cloud' }).click();
  await page.getByRole('link', { name: 'Allow' }).click();
  await page.getByText('cloud is authorized for this workspace.').waitFor();
  await row.getByText('connected', { exact: true }).waitFor();
  await row.getByText('2 tools').waitFor();
  await accessible(page, 'an authorized tool server');
  await page.goBack(); // over there; the answer itself is not in the history
  assert.ok(!page.url().includes('code='), page.url());
  await page.goForward();
  await page.reload();
  await row.getByText('connected', { exact: true }).waitFor();

  // The tool asks; an incomplete answer is not sent.
  const session = await server.ask('POST', '/v1/sessions', { agent_id: agent.id, message: { role: 'user', content: { text: calls('deploy') } } });
  await page.goto(`${server.url}/c/${session.id}`);
  const asks = page.locator('main [data-approval]');
  await asks.getByText('Deploy <i>where</i>?').waitFor();
  await asks.getByLabel('Note <b>').waitFor();
  await accessible(page, 'a question of a tool');
  assert.equal(await asks.getByLabel('Copies').inputValue(), '2');
  await asks.getByLabel('Copies').fill('12');
  await asks.getByRole('button', { name: 'Answer' }).click();
  await asks.getByText('Choose one.').waitFor();
  await asks.getByText('Write at most 9.').waitFor();
  await accessible(page, 'an incomplete answer');
  assert.deepEqual(cloud.heard, []);
  await asks.getByLabel('Where').selectOption('live');
  await asks.getByLabel('Copies').fill('3');
  await asks.getByLabel('Tell the others').uncheck();
  await page.keyboard.press('Tab'); // the keyboard is enough
  await page.keyboard.press('Enter');
  await page.locator('.prose-chat', { hasText: 'It is done.' }).waitFor();
  assert.deepEqual(cloud.heard, [{ action: 'accept', content: { where: 'live', copies: 3, sure: false }, state: 'deploy' }]);
  right(page);
});

once('questions of tools are declined and dismissed, in the inbox too, and lead elsewhere', async () => {
  const agent = await server.ask('POST', '/v1/agents', { name: `Payer ${crypto.randomUUID().slice(0, 8)}`, model: 'sim/script', tools: ['cloud__*'] });
  await until(async () => (await stateOf()) === 'connected', 'the tool server is connected');
  const page = await open(context, server, '/inbox');
  cloud.heard = [];
  for (const [tool, button, action] of [['deploy', 'Decline', 'decline'], ['deploy', 'Dismiss', 'cancel'], ['pay', 'I have done it', 'accept']]) {
    const session = await server.ask('POST', '/v1/sessions', { agent_id: agent.id, message: { role: 'user', content: { text: calls(tool) } } });
    const asks = page.locator('[data-approval]', { hasText: `cloud__${tool} asks` });
    await asks.waitFor();
    if (tool === 'pay') {
      const link = asks.getByRole('link', { name: `Open ${new URL(cloud.url).host}` });
      assert.deepEqual([await link.getAttribute('href'), await link.getAttribute('target')], [`${cloud.url}/pay?order=7`, '_blank']);
      await accessible(page, 'a question that leads elsewhere');
    }
    await asks.getByRole('button', { name: button }).click();
    await asks.waitFor({ state: 'detached' });
    await server.settled(session.id);
    assert.equal(cloud.heard.at(-1)?.action, action);
  }
  right(page);
});

once('an authorization is forgotten, and a phone shows what to do in the conversation', async () => {
  const agent = await server.ask('POST', '/v1/agents', { name: `Walker ${crypto.randomUUID().slice(0, 8)}`, model: 'sim/script', tools: ['cloud__*'] });
  const page = await open(context, server, '/settings/tool-servers');
  await page.getByRole('button', { name: 'Forget the authorization of cloud' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Forget' }).click();
  await page.locator('[data-tool-server=cloud]').getByText('needs authorization').waitFor();
  const session = await server.ask('POST', '/v1/sessions', { agent_id: agent.id, title: 'On the way', message: { role: 'user', content: { text: JSON.stringify([[{ text: 'Hello.' }]]) } } });
  await server.settled(session.id);
  const phone = await open(context, server, `/c/${session.id}`, (tab) => tab.setViewportSize({ width: 390, height: 800 }));
  await phone.getByRole('button', { name: 'Authorize: cloud' }).waitFor();
  assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'it fits on a phone');
  await accessible(phone, 'what to do, on a phone');
  right(phone);
  right(page);
});
