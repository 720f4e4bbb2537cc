// Checks of @ag-ui/client's HttpAgent against a server: it prints "ok NAME" for each check that passed, and fails at the
// first that did not. The phase "reload" runs after the server was killed, with what "ask" has left in the file STATE.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { HttpAgent, buildResumeArray, isInterruptExpired } from '@ag-ui/client'
import { EventSchema } from '@ag-ui/core/schemas'

const { CHECKED_URL: url, CHECKED_KEY: key, PHASE: phase, STATE: state } = process.env
const ok = (name) => console.log('ok', name)
const script = (...steps) => JSON.stringify(steps)
const headers = { authorization: `Bearer ${key}` }
const thread = `t-${process.pid}`
const warned = []
console.warn = (...said) => warned.push(said.join(' '))
console.error = () => {} // HttpAgent prints each failure

// A client of an agent that keeps the events of its runs, each checked against the protocol's schema.
class Agent extends HttpAgent {
  constructor(name, { slug = 'parley', path = '', ...more } = {}) {
    super({ url: `${url}/agui/${slug}${path}`, headers, threadId: `${thread}-${name}`, ...more })
    this.subscribe({
      onEvent: ({ event }) => { EventSchema.parse(event); this.events.push(event) },
      onRunFinishedEvent: ({ outcome, event }) => { this.outcome = outcome; this.finished = event },
      onRunErrorEvent: ({ event }) => { this.failed = event },
    })
  }
  events = []
  say(content, model, more = {}) {
    this.messages.push({ id: crypto.randomUUID(), role: 'user', content })
    return this.go(model, more)
  }
  async go(model, { parley, ...more } = {}) {
    this.events = []
    this.outcome = this.finished = this.failed = undefined
    return this.runAgent({ forwardedProps: { parley: { model, ...parley } }, ...more })
  }
  types() { return this.events.map((e) => e.type) }
  of(type) { return this.events.filter((e) => e.type === type) }
  texts() { return this.messages.filter((m) => ['user', 'assistant'].includes(m.role) && m.content).map((m) => m.content) }
  last() { return this.texts().at(-1) }
  call() { return this.messages.findLast((m) => m.toolCalls)?.toolCalls[0] }
}
const session = (agent) => agent.of('RUN_STARTED')[0].metadata.parley.session_id
const post = (path, body) => fetch(`${url}${path}`, {
  method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body),
})
const until = async (holds) => { while (!holds()) await new Promise((r) => setTimeout(r, 5)) }

async function ask() {
  const echo = new Agent('echo', { initialState: { page: 7 } })
  const { newMessages } = await echo.say('one', 'sim/echo')
  assert.deepEqual(newMessages.map((m) => [m.role, m.content]), [['assistant', 'one']])
  assert.equal(echo.outcome, 'success')
  assert.deepEqual(echo.types(), ['RUN_STARTED', 'STEP_STARTED', 'TEXT_MESSAGE_START',
    ...echo.of('TEXT_MESSAGE_CONTENT').map((e) => e.type), 'TEXT_MESSAGE_END', 'STEP_FINISHED', 'RUN_FINISHED'])
  assert.equal(echo.events[0].protocolVersion, '1.0')
  const [used] = echo.finished.usage
  assert(used.outputTokens > 0 && used.totalTokens === used.inputTokens + used.outputTokens && used.provider === 'sim')
  const first = session(echo)
  await echo.say('two', 'sim/echo')
  assert.equal(session(echo), first)
  assert.deepEqual(echo.texts(), ['one', 'one', 'two', 'two'])
  ok('run and continue')

  const loaded = new Agent('echo')
  await loaded.go()
  assert.deepEqual(loaded.types(), ['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'STATE_SNAPSHOT', 'RUN_FINISHED'])
  assert.deepEqual(loaded.messages, echo.messages.filter((m) => m.role !== 'activity'))
  assert.deepEqual(loaded.state, { page: 7 })
  const unknown = new Agent('unknown', { path: '/connect' })
  await unknown.say('never posted')
  assert.deepEqual(unknown.types(), ['RUN_STARTED', 'RUN_FINISHED'])
  ok('messages and state on connect')

  await echo.go('sim/echo') // nothing new is said
  assert.deepEqual(echo.texts(), ['one', 'one', 'two', 'two'])
  echo.messages.pop()
  await echo.go('sim/echo') // the same question, as after a lost connection
  assert.equal(session(echo), first)
  assert.deepEqual(echo.texts(), ['one', 'one', 'two', 'two'])
  echo.messages.pop()
  echo.messages.at(-1).content = 'other'
  await echo.go('sim/echo', { parley: { again: true } })
  assert.deepEqual(echo.texts(), ['one', 'one', 'other', 'other'])
  assert.notEqual(session(echo), first)
  ok('repeat and edit')

  const steps = new Agent('steps')
  await steps.say(script(
    [{ reasoning: 'Hm.' }, { text: 'Let me look.' }, { tool_call: { name: 'nowhere', arguments: { a: 1 } } }],
    [{ text: 'Done.' }]), 'sim/script')
  assert.deepEqual(steps.messages.slice(1).map((m) => m.role), ['reasoning', 'assistant', 'assistant', 'tool', 'assistant'])
  assert.equal(steps.messages[1].content, 'Hm.')
  assert.deepEqual(steps.call().function, { name: 'nowhere', arguments: '{"a":1}' })
  assert(steps.messages[4].content.length > 10)
  assert.deepEqual(steps.of('STEP_FINISHED').map((e) => e.stepName), ['step 1', 'step 2'])
  const again = new Agent('steps')
  await again.go()
  assert.deepEqual(again.messages.map((m) => [m.id, m.role, m.content, m.toolCalls]),
    steps.messages.map((m) => [m.id, m.role, m.content, m.toolCalls]))
  ok('reasoning, steps and tools of the server')

  const tools = [{ name: 'weather', description: '', parameters: { type: 'object', properties: { city: { type: 'string' } } } }]
  const own = new Agent('own')
  const call = (city) => ({ tool_call: { name: 'weather', arguments: { city } } })
  const looks = script([{ text: 'Let me look.' }, call('Oslo'), call('Rome')], [{ text: 'Cold and warm.' }])
  await own.say(looks, 'sim/script', { tools })
  const calls = own.messages.flatMap((m) => m.toolCalls ?? [])
  assert.equal(own.outcome, 'success')
  assert.deepEqual(own.finished.outcome.pendingToolCallIds, calls.map((c) => c.id))
  await assert.rejects(new Agent('own').say('Never mind.'), /HTTP 409.*results/)
  const early = new Agent('own', { path: '/connect' })
  await early.go()
  assert.deepEqual([early.outcome, early.finished.metadata.parley.waits_for], ['success', 'tool_result'])
  for (const c of calls) {
    const { city } = JSON.parse(c.function.arguments)
    own.messages.push({ id: crypto.randomUUID(), role: 'tool', toolCallId: c.id, content: city === 'Oslo' ? '-3' : '31' })
  }
  await own.go('sim/script', { tools })
  assert.deepEqual([own.last(), own.outcome, own.finished.outcome.pendingToolCallIds], ['Cold and warm.', 'success', undefined])
  assert.equal(own.of('TOOL_CALL_START').length + own.of('TOOL_CALL_RESULT').length, 0)
  const reloaded = new Agent('own')
  await reloaded.go()
  assert.deepEqual(reloaded.messages.map((m) => m.id), own.messages.map((m) => m.id))
  ok('tools of the client')

  for (const made of [
    { slug: 'asks', name: 'Asks', tools: ['current_time'], grants: [{ tool: 'current_time', effect: 'ask' }] },
    { slug: 'wants', name: 'Wants', tools: ['ask_user'] },
    { slug: 'tight', name: 'Tight', model: 'sim/echo', limits: { session_tokens: 50 } },
    { slug: 'leads', name: 'Leads', tools: [{ name: 'clock', description: 'Knows the time.', agent: 'asks' }] },
  ]) assert.equal((await post('/v1/agents', { model: 'sim/script', ...made })).status, 201)
  const time = { tool_call: { name: 'current_time', arguments: {} } }
  for (const approved of [true, false]) {
    const asked = new Agent(`approve-${approved}`, { slug: 'asks' })
    await asked.say(script([time], [{ text: 'Late.' }]), 'sim/script')
    assert.equal(asked.outcome, 'interrupt')
    const [waiting] = asked.pendingInterrupts
    assert.equal(waiting.reason, 'tool_call')
    assert.equal(waiting.toolCallId, asked.call().id)
    assert(waiting.message.includes('current_time') && waiting.responseSchema.properties.approved)
    assert(!isInterruptExpired(waiting))
    const bypass = new Agent(`approve-${approved}`, { slug: 'asks' })
    await assert.rejects(bypass.say('Never mind.'), /HTTP 409.*open interrupts/)
    const connected = new Agent(`approve-${approved}`, { slug: 'asks', path: '/connect' })
    await connected.go()
    assert.deepEqual(connected.pendingInterrupts, [waiting])
    const answer = (payload) => buildResumeArray(asked.pendingInterrupts, { [waiting.id]: { status: 'resolved', payload } })
    await assert.rejects(asked.go(undefined, { resume: answer({}) }), /HTTP 422.*approved/)
    await asked.go(undefined, { resume: answer({ approved, comment: 'I say so.' }) })
    assert.deepEqual([asked.outcome, asked.last()], ['success', 'Late.'])
    assert.deepEqual(asked.of('TOOL_CALL_RESULT').map((e) => e.toolCallId), [waiting.toolCallId])
    assert.equal(asked.of('TOOL_CALL_START').length, 0)
    assert.equal(asked.messages.findLast((m) => m.role === 'tool').content.includes('I say so.'), !approved)
    await asked.go(undefined, { resume: [{ interruptId: waiting.id, status: 'resolved', payload: { approved } }] })
    assert.deepEqual([asked.outcome, asked.last()], ['success', 'Late.']) // safe to repeat
  }
  ok('approvals as interrupts')

  const question = (text) => ({ tool_call: { name: 'ask_user', arguments: { question: text, options: ['red', 'blue'] } } })
  const wants = new Agent('wants', { slug: 'wants' })
  await wants.say(script([question('Which colour?'), question('Which size?')], [{ text: 'Thanks.' }]), 'sim/script')
  assert.deepEqual(wants.pendingInterrupts.map((i) => i.reason), ['input_required', 'input_required'])
  assert.deepEqual(wants.pendingInterrupts.map((i) => i.message).sort(), ['Which colour?', 'Which size?'])
  const [one, other] = wants.pendingInterrupts
  await assert.rejects(wants.go(undefined, { resume: [{ interruptId: one.id, status: 'cancelled' }] }), /not addressed/)
  const partly = new Agent('wants', { slug: 'wants' }) // does not know what is open
  await partly.go(undefined, { resume: [{ interruptId: one.id, status: 'resolved', payload: { answer: 'red' } }] })
  assert.deepEqual(partly.pendingInterrupts.map((i) => i.id), [other.id])
  await wants.go(undefined, { resume: [
    { interruptId: one.id, status: 'resolved', payload: { answer: 'red' } }, { interruptId: other.id, status: 'cancelled' },
  ] })
  assert.deepEqual([wants.outcome, wants.last()], ['success', 'Thanks.'])
  const answers = wants.messages.filter((m) => m.role === 'tool').map((m) => m.content).sort()
  assert.deepEqual(answers, ['The user declined to answer.', 'red'])
  ok('questions as interrupts')

  for (const status of ['resolved', 'cancelled']) {
    const tight = new Agent(`tight-${status}`, { slug: 'tight' })
    await tight.say('Hello.')
    const [limit] = tight.pendingInterrupts
    assert.equal(limit.reason, 'parley:limit')
    assert(limit.message.length > 20)
    if (status === 'resolved') {
      const raised = await fetch(`${url}/v1/sessions/${session(tight)}`, {
        method: 'PATCH', headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ limits: { session_tokens: 50_000 } }),
      })
      assert.equal(raised.status, 200)
    }
    await tight.go(undefined, { resume: [{ interruptId: limit.id, status }] })
    assert.equal(tight.outcome, status === 'resolved' ? 'success' : 'cancelled')
  }
  ok('limits as interrupts')

  const leads = new Agent('leads', { slug: 'leads' })
  const inner = script([time], [{ text: 'It is late.' }])
  const delegate = { tool_call: { name: 'clock', arguments: { task: inner } } }
  await leads.say(script([delegate], [{ text: 'Go to bed.' }]), 'sim/script')
  const [began] = leads.of('SUBAGENT_STARTED')
  assert.deepEqual([began.name, began.parentToolCallId], ['asks', leads.call().id])
  const [held] = leads.pendingInterrupts
  assert.deepEqual([held.reason, held.subagentRunId], ['confirmation', began.subagentRunId])
  assert.deepEqual(leads.of('SUBAGENT_FINISHED')[0].outcome, { type: 'suspended', interruptIds: [held.id] })
  await leads.go(undefined, { resume: [{ interruptId: held.id, status: 'resolved', payload: true }] })
  assert.deepEqual([leads.outcome, leads.last()], ['success', 'Go to bed.'])
  assert.equal(leads.of('SUBAGENT_STARTED')[0].subagentRunId, began.subagentRunId)
  assert.deepEqual(leads.of('SUBAGENT_FINISHED')[0].outcome, { type: 'success' })
  ok('subagents and their approvals')

  const retried = new Agent('retried')
  const busy = { error: { class: 'rate_limit', retry_after_ms: 1, attempts: 1 } }
  await retried.say(script([busy, { text: 'At last.' }]), 'sim/script')
  assert.equal(retried.of('CUSTOM')[0].name, 'parley.step.retrying')
  assert.deepEqual([retried.outcome, retried.last()], ['success', 'At last.'])
  const context = new Agent('context')
  await context.say([{ type: 'text', text: 'What is this?' }, { type: 'image', source: { type: 'data', mimeType: 'image/png',
    value: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=' } },
    { type: 'audio', source: { type: 'file', value: 'file-1' } }], 'sim/echo',
    { context: [{ description: 'The open page', value: 'seven' }], parley: { raw: true } })
  assert.equal(context.outcome, 'success')
  assert(context.of('CUSTOM')[0].value.includes('cannot be used'))
  assert(context.of('RAW').some((e) => e.source === 'parley' && e.event.type === 'session.started'))
  const { data } = await (await fetch(`${url}/v1/sessions/${session(context)}/messages`, { headers })).json()
  assert.equal(data[0].context_note, 'The open page: seven')
  const kept = new Agent('context')
  await kept.go()
  assert.deepEqual(kept.messages[0].content.map((p) => p.type), ['text', 'image'])
  ok('retries, context, files and raw events')

  const failing = new Agent('failing')
  await failing.say(script([{ text: 'Half an answ' }, { error: { class: 'content_filter', retryable: false } }]), 'sim/script')
  assert.equal(failing.failed.code, 'content_filter')
  assert(failing.failed.message.length > 10)
  assert.equal(failing.last(), 'Half an answ')
  await failing.say('Go on.', 'sim/echo')
  assert.deepEqual([failing.outcome, failing.last()], ['success', 'Go on.'])
  const nowhere = new Agent('nowhere')
  await assert.rejects(nowhere.say('hello', 'no/such'), (e) => e.payload.type === 'RUN_ERROR' && e.payload.code === 'invalid')
  const stranger = new Agent('stranger', { slug: 'no-such-agent' })
  await assert.rejects(stranger.say('hello'), (e) => e.status === 404 && EventSchema.parse(e.payload).code === 'not_found')
  ok('errors')

  const long = new Agent('long')
  const sent = long.say('Tell me more.', 'sim/lorem-2000-2')
  await until(() => long.texts().length > 1 && long.last().length > 40)
  const watcher = new Agent('long', { path: '/connect' })
  const watched = watcher.go()
  await until(() => watcher.texts().length > 1 && watcher.last().length > 80)
  assert.equal(watcher.types()[1], 'MESSAGES_SNAPSHOT')
  const stopped = await post(`/agui/parley/${long.threadId}/stop`)
  assert.equal(stopped.status, 204)
  await Promise.all([sent, watched])
  assert.deepEqual([long.outcome, watcher.outcome], ['cancelled', 'cancelled'])
  assert.deepEqual(watcher.texts(), long.texts())
  assert.equal((await post(`/agui/parley/${long.threadId}/stop`)).status, 204)
  ok('connect in the middle, and cancel')

  const gone = new Agent('gone')
  const lost = gone.say('Tell me more.', 'sim/lorem-100-5')
  await until(() => gone.texts().length > 1)
  gone.abortRun() // the turn goes on
  await lost
  const back = new Agent('gone')
  await back.go()
  assert.equal(back.outcome, 'success')
  assert(back.last().length > gone.last().length && back.last().startsWith(gone.last()))
  ok('an aborted request ends no turn')

  assert.deepEqual(warned.filter((said) => said.includes('[ag-ui]')), [], 'the client found the events odd')
  const parked = new Agent('parked', { slug: 'asks' })
  await parked.say(script([{ tool_call: { name: 'current_time', arguments: {} } }], [{ text: 'Late.' }]), 'sim/script')
  assert.equal(parked.outcome, 'interrupt')
  const left = new Agent('left')
  left.say('Go on without me.', 'sim/lorem-300-5')
  await until(() => left.texts().length > 1 && left.last().length > 40)
  writeFileSync(state, JSON.stringify({ id: left.threadId, waits: parked.threadId }))
  process.exit(0)
}

async function reload() {
  const { id, waits } = JSON.parse(readFileSync(state, 'utf8'))
  const left = new Agent('')
  left.threadId = id
  const held = new Agent('', { slug: 'asks' })
  held.threadId = waits
  await left.go()
  assert.equal(left.outcome, 'success')
  assert.equal(left.texts()[0], 'Go on without me.')
  assert(left.last().length > 300)
  await left.say('And now?', 'sim/echo')
  assert.equal(left.last(), 'And now?')
  ok('an answer survives a kill')

  await held.go()
  const [open] = held.pendingInterrupts
  await held.go(undefined, { resume: [{ interruptId: open.id, status: 'resolved', payload: { approved: true } }] })
  assert.deepEqual([held.outcome, held.last()], ['success', 'Late.'])
  ok('an interrupt survives a kill')
}

await (phase === 'reload' ? reload : ask)()
