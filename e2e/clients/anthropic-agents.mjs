// Checks of the runners of Managed Agents in @anthropic-ai/sdk against a server: it prints "ok NAME" for each check that
// passed, and fails at the first that did not. The phase "reload" runs after the server was killed, with what "ask" has
// left in the file STATE.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import Anthropic from '@anthropic-ai/sdk'

const { CHECKED_URL: url, CHECKED_KEY: authToken, PHASE: phase, STATE: state } = process.env
const client = new Anthropic({ baseURL: `${url}/anthropic`, apiKey: null, authToken, maxRetries: 0 })
const { agents, environments, sessions } = client.beta
const ok = (name) => console.log('ok', name)
const script = (...steps) => JSON.stringify(steps)
const call = (name, args = {}) => ({ tool_call: { name, arguments: args } })
const says = (text) => ({ type: 'user.message', content: [{ type: 'text', text }] })
const tool = { type: 'custom', name: 'weather', description: 'Looks', input_schema: { type: 'object', properties: {} } }
const ran = []
const weather = { ...tool, parse: (input) => input, run: (input) => {
  ran.push(input.city)
  if (input.city === 'Nowhere') throw new Error('no such city')
  return `-3 in ${input.city}`
} }
const api = async (method, path, body) => {
  const answer = await fetch(`${url}/v1/${path}`, {
    method, headers: { Authorization: `Bearer ${authToken}`, 'Content-Type': 'application/json' },
    body: body && JSON.stringify(body),
  })
  assert(answer.ok, `${method} ${path}: ${answer.status}`)
  return answer.json()
}
const listed = async (id) => {
  const all = []
  for await (const e of sessions.events.list(id, { limit: 1000 })) all.push(e)
  return all
}

// Runs the tools of a session until an event of a type came, and returns the calls.
async function runUntil(id, ends, options = {}) {
  const stop = new AbortController()
  const calls = []
  const watched = watch(id, ends).then(() => stop.abort())
  for await (const one of sessions.events.toolRunner(id, { tools: [weather], signal: stop.signal, ...options })) {
    calls.push(one)
  }
  await watched
  return calls
}

// Waits until the list of events has one that ends.
async function watch(id, ends) {
  const until = Date.now() + 40_000
  for (;;) {
    const found = (await listed(id)).find(ends)
    if (found) return found
    assert(Date.now() < until, 'nothing came')
    await new Promise((r) => setTimeout(r, 30))
  }
}

const ended = (e) => e.type === 'session.status_idle' && e.stop_reason.type !== 'requires_action'

async function ask() {
  const agent = await agents.create({ name: 'Looker', model: 'sim/script', system: 'Be {{brief}}.', tools: [tool] })
  assert.equal((await agents.retrieve(agent.id)).tools[0].name, 'weather')
  const environment = await environments.create({ name: 'own', config: { type: 'self_hosted' } })
  ok('agents and environments')

  const open = async (...events) => {
    const session = await sessions.create({ agent: agent.id, environment_id: environment.id, title: 'Weather' })
    if (events.length) await sessions.events.send(session.id, { events })
    return session.id
  }
  const one = await open()
  assert.equal((await sessions.retrieve(one)).environment_id, environment.id)
  const live = []
  const stream = await sessions.events.stream(one)
  const sent = await sessions.events.send(one, { events: [says(script([{ text: 'Hello.' }]))] })
  for await (const e of stream) { live.push(e); if (ended(e)) break }
  assert.deepEqual(live.map((e) => e.type),
    ['user.message', 'session.status_running', 'agent.message', 'session.status_idle'])
  assert.equal(live[0].id, sent.data[0].id)
  assert.equal(live[2].content[0].text, 'Hello.')
  assert.deepEqual((await listed(one)).map((e) => e.id), live.map((e) => e.id))
  ok('events, listed and streamed')

  await sessions.events.send(one, { events: [says(script([{ text: 'Again.' }]))] })
  await watch(one, (e) => e.content?.[0].text === 'Again.')
  ok('continue')

  const two = await open(says(script([call('weather', { city: 'Oslo' }), call('weather', { city: 'Nowhere' })],
    [{ text: 'Cold.' }])))
  const calls = await runUntil(two, ended)
  assert.deepEqual(ran.sort(), ['Nowhere', 'Oslo'])
  assert.deepEqual(calls.map((c) => [c.name, c.posted, c.isError]).sort(),
    [['weather', true, false], ['weather', true, true]].sort())
  const story = await listed(two)
  const asks = story.find((e) => e.stop_reason?.type === 'requires_action')
  assert.deepEqual([...asks.stop_reason.event_ids].sort(), calls.map((c) => c.toolUseId).sort())
  assert(story.some((e) => e.type === 'user.custom_tool_result' && e.content[0].text === '-3 in Oslo'))
  assert.equal(story.findLast((e) => e.type === 'agent.message').content[0].text, 'Cold.')
  ok('the runner of tools')

  const three = await open(says(script([call('weather', { city: 'Rome' })], [{ text: 'Warm.' }])))
  const until = await runUntil(three, ended, { maxIdleMs: 200 })
  assert.equal(until.length, 1)
  ok('the runner ends when the session is idle')

  const stop = new AbortController()
  const worker = environments.work.worker({ environmentId: environment.id, environmentKey: authToken, tools: [weather],
    maxIdleMs: 200, signal: stop.signal })
  const working = worker.run().catch((e) => assert(stop.signal.aborted, e))
  for (const city of ['Paris', 'Lima']) {
    const id = await open(says(script([call('weather', { city })], [{ text: `It is cold in ${city}.` }])))
    await watch(id, ended)
    assert(ran.includes(city))
    assert.deepEqual((await sessions.retrieve(id)).metadata, {})
  }
  stop.abort()
  await working
  ok('a worker of an environment')

  const four = await open(says(script([call('weather', { city: 'Kyiv' })], [{ text: 'Snow.' }])))
  await watch(four, (e) => e.stop_reason?.type === 'requires_action')
  const at = { environment_id: environment.id }
  const claimed = await environments.work.poll(environment.id)
  assert.equal(claimed.data.id, four)
  assert.equal(await environments.work.poll(environment.id), null)
  await environments.work.ack(claimed.id, at)
  const beat = await environments.work.heartbeat(claimed.id, { ...at, expected_last_heartbeat: 'NO_HEARTBEAT' })
  assert(beat.lease_extended && beat.ttl_seconds > 0 && beat.state === 'active')
  await environments.work.heartbeat(claimed.id, { ...at, expected_last_heartbeat: beat.last_heartbeat })
  await assert.rejects(environments.work.heartbeat(claimed.id, { ...at, expected_last_heartbeat: 'NO_HEARTBEAT' }),
    (e) => e.status === 412 && e.details.current_state.last_heartbeat === beat.last_heartbeat)
  await environments.work.stop(claimed.id, { ...at, force: true })
  await assert.rejects(environments.work.stop(claimed.id, at), (e) => e.status === 409)
  assert.equal((await environments.work.poll(environment.id)).id, claimed.id)
  await environments.work.stop(claimed.id, at)
  ok('work is claimed, kept and given back')

  await api('POST', 'agents', { slug: 'careful', name: 'Careful', model: 'sim/script', tools: ['current_time'],
    grants: [{ tool: 'current_time', effect: 'ask' }] })
  for (const result of ['allow', 'deny']) {
    const { id } = await sessions.create({ agent: 'careful', environment_id: environment.id,
      initial_events: [says(script([call('current_time')], [{ text: 'Done.' }]))] })
    const idle = await watch(id, (e) => e.stop_reason?.type === 'requires_action')
    const asked = (await listed(id)).find((e) => e.type === 'agent.mcp_tool_use')
    assert.equal(asked.evaluated_permission, 'ask')
    assert.deepEqual(idle.stop_reason.event_ids, [asked.id])
    await sessions.events.send(id, { events: [{ type: 'user.tool_confirmation', tool_use_id: asked.id, result }] })
    await watch(id, ended)
    const all = await listed(id)
    assert.equal(all.find((e) => e.type === 'user.tool_confirmation').result, result)
    assert.equal(!!all.find((e) => e.type === 'agent.mcp_tool_result').is_error, result === 'deny')
  }
  ok('approvals')

  const long = await open(says(script([{ text: 'Wait.' }, { wait_ms: 60_000 }])))
  await watch(long, (e) => e.type === 'session.status_running')
  await sessions.events.send(long, { events: [{ type: 'user.interrupt' }] })
  await watch(long, ended)
  ok('interrupt')

  const fails = await open(says(script([{ error: { class: 'content_filter', message: 'no' } }])))
  const idle = await watch(fails, ended)
  assert.equal(idle.stop_reason.type, 'retries_exhausted')
  assert((await listed(fails)).some((e) => e.type === 'session.error' && e.error.message))
  await assert.rejects(sessions.retrieve('sesn_0190b4a2-0000-7000-8000-000000000000'), Anthropic.NotFoundError)
  await assert.rejects(sessions.events.send(one, { events: [{ type: 'user.dance' }] }), Anthropic.BadRequestError)
  await assert.rejects(sessions.events.send(one, { events: [{ type: 'user.custom_tool_result',
    custom_tool_use_id: 'sevt_nobody', content: [] }] }), Anthropic.ConflictError)
  ok('errors')

  const cut = await open(says(script([call('weather', { city: 'Bergen' })], [{ text: 'Rain.' }])))
  await watch(cut, (e) => e.stop_reason?.type === 'requires_action')
  writeFileSync(state, JSON.stringify({ cut, ids: (await listed(cut)).map((e) => e.id) }))
}

async function reload() {
  const { cut, ids } = JSON.parse(readFileSync(state))
  assert.deepEqual((await listed(cut)).map((e) => e.id), ids)
  ok('events after a kill')

  const [resumed] = await runUntil(cut, ended)
  assert(ids.includes(resumed.toolUseId) && resumed.posted)
  assert((await listed(cut)).some((e) => e.content?.[0].text === 'Rain.'))
  ok('a call survives a kill')
}

await (phase === 'ask' ? ask() : reload())
