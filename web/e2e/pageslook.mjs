import { browser, Server, open, until } from './harness.mjs';
const server = await Server.start(); const chrome = await browser();
try {
  const mk = (name, f) => server.ask('POST', '/v1/agents', { name, model: 'sim/script', ...f });
  const lead = await mk('Harbour editor', { description: 'Plans the harbour paper and briefs its owner.' });
  const scout = await mk('Scout', { lead_id: lead.id, model: 'sim/lorem-600-1000', description: 'Finds things out.' });
  const clerk = await mk('Clerk', { lead_id: lead.id, model: 'sim/echo', description: 'Writes things down.' });
  const runner = await mk('Runner', { lead_id: scout.id, model: 'sim/echo' });
  const asks = await mk('Farmer', {tools: ['current_time'], grants: [{ tool: 'current_time', effect: 'ask' }]});
  const bg = await server.ask('GET', `/v1/agents/${lead.id}/background`);
  const call = (name, args) => ({ tool_call: { name, arguments: args } });
  const work = (a, s) => server.ask('POST', `/v1/agents/${a.id}/tasks`, { text: JSON.stringify(s) });
  await work(lead, [[call('delegate_to_agent', { agent: scout.slug, task: 'Find out why the **fog signal** is silent.' }), call('delegate_to_agent', { agent: clerk.slug, task: 'Write down who lights the lamp.' })], [call('create_inbox_item', { title: 'The old lamp burns again', summary: 'Nobody lights it: the harbour master confirmed that the mechanism starts by itself at dusk.', text: `Nobody lights it: the mechanism starts **by itself** [${bg.id}:1]. The fog signal is silent because its battery is empty [${bg.id}:2].\n\n- Replace the battery\n- Tell the pilots` }), call('create_inbox_item', { title: 'The signal is silent', summary: 'Ships may not hear the rocks tonight.', type: 'alert', text: 'No sound.' })], [{ text: 'They are at work.' }], [{text: 'good'}]]);
  await work(asks, [[call('request_input', { question: 'Which field shall I plough first, the northern or the eastern one?' })], [call('current_time', {})], [{ text: 'I have asked.' }]]);
  await server.ask('POST', '/v1/schedules', { agent_id: lead.slug, name: 'Morning paper', cron: '0 9 * * 1-5', time_zone: 'Europe/Berlin', message: 'Look for news and sum them up.' });
  await server.ask('POST', '/v1/schedules', { agent_id: scout.slug, every: '6h', message: 'Walk along the pier and report.', enabled: false });
  await until(async () => (await server.ask('GET', '/v1/inbox')).data.length >= 4);
  const context = await chrome.newContext({ viewport: { width: 1200, height: 900 } });
  const shot = async (name, address, act, opts) => {
    const p = await open(context, server, address); if (opts?.phone) await p.setViewportSize({ width: 390, height: 844 }); if (opts?.dark) await p.emulateMedia({ colorScheme: 'dark' });
    if (opts?.phone) await p.reload();
    await p.waitForTimeout(1200); await act?.(p); await p.waitForTimeout(500); await p.screenshot({ path: `/tmp/pages-shots/${name}.png` }); console.log(name, p.wrong); await p.close();
  };
  const items = (await server.ask('GET', '/v1/inbox')).data;
  const item = (t) => items.find((i) => i.type === t).id;
  await shot('inbox', '/inbox');
  await shot('briefing', `/inbox?item=${item('briefing')}`);
  await shot('question', `/inbox?item=${item('question')}`, null, { dark: true });
  await shot('approval', `/inbox?item=${item('approval')}`, null, { phone: true, dark: true });
  await shot('teams', '/team');
  await shot('team', `/team/${lead.slug}`);
  await shot('team-scrolled', `/team/${lead.slug}`, async (p) => { await p.locator('[data-delegation] button').first().click(); await p.locator('#delegations').scrollIntoViewIfNeeded(); await p.evaluate(() => document.querySelector('#delegations').scrollIntoView()); });
  await shot('team-phone', `/team/${lead.slug}`, null, { phone: true });
  await shot('editor', `/team/${lead.slug}`, (p) => p.getByRole('button', { name: 'New schedule' }).click(), { dark: true });
  await shot('editor-phone', `/team/${lead.slug}`, (p) => p.getByRole('button', { name: 'New schedule' }).click(), { phone: true });
  await shot('chat', `/c/${items.find((i)=>i.type==='briefing').session_id}`);
} finally { await chrome.close(); await server.end(); }
