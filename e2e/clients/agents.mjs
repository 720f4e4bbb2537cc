// Checks of the Agents API of the package openai against a server: it prints "ok NAME" for each check that passed, and
// fails at the first that did not. The phase "reload" runs after the server was killed, with what "ask" has left in the
// file STATE.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import OpenAI from 'openai'

const { CHECKED_URL: url, CHECKED_KEY: apiKey, PHASE: phase, STATE: state } = process.env
const client = new OpenAI({ baseURL: `${url}/openai/v1`, apiKey, maxRetries: 0 })
const { agents } = client.beta
const { sessions } = agents
const ok = (name) => console.log('ok', name)
const environment = { type: 'none' }
const open = (model, more = {}, session = {}) => sessions.create({ environment, agent: { model, ...more }, ...session })
const script = (...steps) => JSON.stringify(steps)
const say = (text) => ({
  type: 'agent.session.input.message', input: [{ role: 'user', content: [{ type: 'input_text', text }] }],
})
const kinds = (events) => events.map((e) => e.type.replace('agent.session.', ''))
const texts = (result) => result.messages.map((m) => m.content.map((p) => p.text).join('')).join('|')
const all = async (list) => {
  const items = []
  for await (const item of list) items.push(item)
  return items
}
const until = async (id, status) => {
  for (;;) {
    const session = await sessions.retrieve(id)
    if (session.status === status) return session
    await new Promise((r) => setTimeout(r, 5))
  }
}
const refused = (promise, kind, code) =>
  assert.rejects(promise, (e) => {
    assert(e instanceof kind, `${e}`)
    if (code !== undefined) assert.equal(e.code, code)
    return true
  })
const weather = {
  type: 'function', name: 'weather', description: 'The weather.', parameters: { type: 'object', properties: {} },
}
const call = { tool_call: { name: 'weather', arguments: { city: 'Oslo' } } }

async function ask() {
  const one = await open('sim/echo', { instructions: 'Be {{brief}}.' }, { metadata: { a: 'b' } })
  assert.equal(one.object, 'agent.session')
  assert.equal(one.status, 'idle')
  assert.equal(one.agent.model, 'sim/echo')
  assert.equal(one.agent.instructions, 'Be {{brief}}.')
  assert.deepEqual([one.metadata, one.environment, one.required_actions], [{ a: 'b' }, environment, []])
  ok('create')

  const stream = sessions.stream(one.id, { input: 'Ein Satz – mit Umlauten, äöü.' }).withResultCollection()
  const events = []
  for await (const event of stream) events.push(event)
  assert.equal(texts(await stream.finalResult()), 'Ein Satz – mit Umlauten, äöü.')
  assert.equal(new Set(events.map((e) => e.event_id)).size, events.length)
  const seen = kinds(events).filter((k) => k !== 'turn.output_text.delta')
  assert.deepEqual(seen, ['idle', 'turn.created', 'turn.item.added', 'in_progress', 'turn.in_progress',
    'turn.item.added', 'turn.content_part.added', 'turn.output_text.done', 'turn.content_part.done',
    'turn.item.done', 'turn.completed', 'idle'])
  assert.equal(events.filter((e) => e.delta).map((e) => e.delta).join(''), 'Ein Satz – mit Umlauten, äöü.')
  assert(events.find((e) => e.type === 'agent.session.turn.completed').usage.total_tokens > 0)
  ok('stream')

  assert.equal(texts(await sessions.stream(one.id, { input: 'two' }).finalResult()), 'two')
  const items = await all(sessions.items.list(one.id, { order: 'asc', limit: 1 }))
  assert.deepEqual(items.map((i) => [i.type, i.role]),
    [['message', 'user'], ['message', 'assistant'], ['message', 'user'], ['message', 'assistant']])
  assert.equal(items[1].phase, 'final_answer')
  assert.equal((await sessions.items.list(one.id)).data[0].content[0].text, 'two')
  const turns = await all(sessions.turns.list(one.id, { limit: 1 }))
  assert.deepEqual(turns.map((t) => [t.status, t.subagent_id]), [['completed', null], ['completed', null]])
  assert.deepEqual(await sessions.turns.retrieve(turns[0].id, { session_id: one.id }), turns[0])
  const own = await all(sessions.turns.items.list(turns[0].id, { session_id: one.id, order: 'asc' }))
  assert.deepEqual(own, items.slice(2))
  ok('items and turns')

  const made = await open('sim/echo', {}, { input: 'hello', stream: true })
  assert.equal(texts(await made.finalResult()), 'hello')
  const listed = (await sessions.list({ limit: 1 })).data
  assert.equal(listed.length, 1)
  const changed = await sessions.update(one.id, { metadata: { c: 'd' }, agent: { model: 'sim/script', tools: [weather] } })
  assert.deepEqual([changed.metadata, changed.agent.model, changed.agent.tools[0].name], [{ c: 'd' }, 'sim/script', 'weather'])
  assert((await all(sessions.list({ limit: 1 }))).some((s) => s.id === one.id))
  ok('create with a stream, list, update')

  const asked = []
  const tool = await sessions.create({
    environment, agent: { model: 'sim/script', tools: [weather] }, stream: true,
    input: script([{ text: 'Look.' }, call, call], [{ text: 'Cold.' }]),
    toolHandlers: { weather: (args) => { asked.push(args); return { degrees: -3 } } },
  })
  const answered = await tool.finalResult()
  assert.equal(texts(answered), 'Cold.')
  assert.deepEqual(asked, [{ city: 'Oslo' }, { city: 'Oslo' }])
  const last = await sessions.stream(answered.turn.session_id, {
    input: script([call], [{ text: 'Still.' }]), toolHandlers: { weather: () => { throw new Error('secret') } },
  }).finalResult()
  assert.equal(texts(last), 'Still.')
  const worked = await all(sessions.items.list(last.turn.session_id, { order: 'asc' }))
  assert.deepEqual(worked.map((i) => i.type), ['message', 'message', 'function_call', 'function_call',
    'function_call_output', 'function_call_output', 'message', 'message', 'function_call', 'function_call_output', 'message'])
  assert.deepEqual([worked[1].phase, worked[2].status, worked[2].arguments], ['commentary', 'completed', { city: 'Oslo' }])
  assert.deepEqual([worked[4].output, worked[4].error], ['{"degrees":-3}', null])
  assert.equal(worked[9].error, 'Tool handler failed.')
  ok('tool runners')

  const waits = await open('sim/script', { tools: [weather] }, { input: script([call], [{ text: 'Thanks.' }]) })
  const { required_actions: [action] } = await until(waits.id, 'requires_action')
  assert.deepEqual([action.type, action.name, action.arguments], ['function_call', 'weather', { city: 'Oslo' }])
  const result = (more) => sessions.events.create(waits.id, {
    events: [{ type: 'agent.session.input.tool_result', turn_id: action.turn_id, call_id: action.call_id, success: true,
      output: [{ type: 'input_text', text: 'warm' }], ...more }], 'Idempotency-Key': 'once',
  })
  await refused(result({ call_id: 'other' }), OpenAI.BadRequestError, 'invalid_request_error')
  await refused(result({ turn_id: 'turn_x' }), OpenAI.BadRequestError, 'invalid_request_error')
  await refused(sessions.stream(waits.id, { input: 'no' }).finalResult(), OpenAI.OpenAIError)
  const { response } = await result().withResponse()
  assert.equal(response.status, 202)
  await result() // sent again
  await until(waits.id, 'idle')
  assert.equal((await sessions.items.list(waits.id)).data[0].content[0].text, 'Thanks.')
  ok('results by hand')

  const agent = await agents.create({ name: `Asks ${phase}`, model: 'sim/tool', instructions: 'Ask {{first}}.' })
  assert.deepEqual([agent.object, agent.model, agent.instructions], ['agent', 'sim/tool', 'Ask {{first}}.'])
  const id = agent.id.replace('agent_', '')
  const patched = await fetch(`${url}/v1/agents/${id}`, {
    method: 'PATCH', headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ tools: ['current_time'], grants: [{ tool: 'current_time', effect: 'ask' }] }),
  })
  assert.equal(patched.status, 200)
  for (const decision of ['approve', 'deny', 'cancel']) {
    const asks = await sessions.create({ environment, agent_id: agent.id, input: 'What time is it?' })
    const { required_actions: [question] } = await until(asks.id, 'requires_action')
    assert.deepEqual([question.type, question.request.name], ['mcp_approval_request', 'current_time'])
    const live = await sessions.events.stream(asks.id)
    const approve = () => sessions.events.create(asks.id, {
      events: [{ type: 'agent.session.input.mcp_approval_request_result', request_id: question.request_id,
        response: { type: 'mcp_tool_call', decision } }],
    })
    await approve()
    const after = []
    for await (const event of live) {
      after.push(event)
      if (event.type === 'agent.session.idle') break
    }
    const end = decision === 'cancel' ? 'turn.cancelled' : 'turn.completed'
    assert(kinds(after).includes(end), `${decision}: ${kinds(after)}`)
    const used = (await all(sessions.items.list(asks.id))).find((i) => i.type === 'mcp_call')
    assert.equal(used.status, decision === 'approve' ? 'completed' : 'failed')
    if (decision === 'approve') await approve()
  }
  ok('approvals')

  const renamed = await agents.update(agent.id, { name: 'Asks', model: 'sim/echo', tools: [weather] })
  assert.deepEqual([renamed.name, renamed.model, renamed.tools.length], ['Asks', 'sim/echo', 1])
  assert.deepEqual(await agents.retrieve(agent.id), renamed)
  assert((await all(agents.list({ limit: 1 }))).some((a) => a.id === agent.id))
  assert.equal((await agents.delete(agent.id)).deleted, true)
  await refused(sessions.create({ environment, agent_id: agent.id }), OpenAI.NotFoundError)
  ok('agents')

  const slow = await open('sim/lorem-4000-50', {}, { input: 'tell' })
  const watched = await sessions.events.stream(slow.id)
  const heard = []
  for await (const event of watched) {
    if (heard.push(event) === 1) {
      await sessions.events.create(slow.id, { events: [say('steered'), { type: 'agent.session.input.cancel' }] })
    }
    if (event.type === 'agent.session.turn.cancelled') break
  }
  assert.equal(heard[0].type, 'agent.session.in_progress')
  await sessions.events.create(one.id, { events: [{ type: 'agent.session.input.cancel' }] }) // nothing runs
  ok('cancel')

  const steered = await open('sim/script', { tools: [weather] }, { input: script([call], [{ text: 'Done.' }]) })
  const { required_actions: [pending] } = await until(steered.id, 'requires_action')
  await sessions.events.create(steered.id, { events: [say('by the way'),
    { type: 'agent.session.input.tool_result', turn_id: pending.turn_id, call_id: pending.call_id, success: true, output: 'x' }] })
  await until(steered.id, 'idle')
  const [only, ...others] = await all(sessions.turns.list(steered.id))
  assert.equal(others.length, 0)
  const spoken = await all(sessions.turns.items.list(only.id, { session_id: steered.id, order: 'asc' }))
  assert(spoken.some((i) => i.role === 'user' && i.content[0].text === 'by the way'))
  ok('steer')

  const failing = await open('sim/script', {}, { stream: true,
    input: script([{ text: 'Half' }, { error: { class: 'content_filter', retryable: false } }]) })
  await assert.rejects(failing.finalResult(), (e) => e.reason === 'failed' || /fail/.test(`${e}`))
  await refused(open('sim/echo', {}, { environment: { type: 'openai_hosted' } }), OpenAI.BadRequestError)
  await refused(open('nobody'), OpenAI.NotFoundError, 'model_not_found')
  await refused(sessions.retrieve('asess_nobody'), OpenAI.NotFoundError)
  await refused(sessions.events.create(one.id, { events: [{ type: 'other' }] }), OpenAI.BadRequestError)
  await refused(new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: 'wrong', maxRetries: 0 }).beta.agents.list(),
    OpenAI.AuthenticationError, 'invalid_api_key')
  ok('errors')

  assert.deepEqual((await sessions.subagents.list(one.id)).data, [])
  await refused(sessions.subagents.retrieve('subagent_x', { session_id: one.id }), OpenAI.NotFoundError)
  assert.equal((await sessions.delete(steered.id)).deleted, true)
  await refused(sessions.retrieve(steered.id), OpenAI.NotFoundError)
  ok('subagents and delete')

  const left = await open('sim/script', { tools: [weather] }, { input: script([call], [{ text: 'After.' }]) })
  await until(left.id, 'requires_action')
  const interrupted = await open('sim/lorem-60-50', {}, { input: 'tell', stream: true })
  let running
  for await (const event of interrupted) {
    running ??= event.session?.id
    if (event.type === 'agent.session.turn.output_text.delta') break
  }
  writeFileSync(state, JSON.stringify({ interrupted: running, left: left.id }))
}

async function reload() {
  const { interrupted, left } = JSON.parse(readFileSync(state))
  await until(interrupted, 'idle')
  const items = await all(sessions.items.list(interrupted, { order: 'asc' }))
  assert(items.at(-1).content[0].text.length > 100)
  ok('a turn survives a kill')

  const { required_actions: [action] } = await sessions.retrieve(left)
  const live = await sessions.events.stream(left)
  const seen = []
  for await (const event of live) {
    if (seen.push(event) === 1) {
      assert.equal(event.session.required_actions[0].call_id, action.call_id)
      await sessions.events.create(left, { events: [{ type: 'agent.session.input.tool_result',
        turn_id: action.turn_id, call_id: action.call_id, success: true, output: 'x' }] })
    }
    if (event.type === 'agent.session.idle') break
  }
  assert(seen.some((e) => e.type === 'agent.session.turn.output_text.done' && e.text === 'After.'))
  ok('an action survives a kill')
}

await (phase === 'reload' ? reload() : ask())
