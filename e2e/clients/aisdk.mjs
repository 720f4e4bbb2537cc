// Checks of the package ai, as useChat uses it, against a server: it prints "ok NAME" for each check that passed, and
// fails at the first that did not. AI is the package's major version. The phase "reload" runs after the server was killed,
// with what "ask" has left in the file STATE.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'

const { CHECKED_URL: url, CHECKED_KEY: key, PHASE: phase, STATE: state, AI: version } = process.env
const ai = await import(`ai${version}`)
const ok = (name) => console.log('ok', name)
const script = (...steps) => JSON.stringify(steps)
const headers = { authorization: `Bearer ${key}`, 'x-ai-sdk-version': version }
const api = `${url}/ai-sdk/parley`
const get = async (path, of = api) => (await fetch(`${of}/${path}`, { headers })).json()

// What useChat adds to AbstractChat: where the messages are kept.
class Kept {
  status = 'ready'
  error = undefined
  constructor(messages) { this.messages = messages }
  pushMessage = (message) => { this.messages = this.messages.concat(message) }
  popMessage = () => { this.messages = this.messages.slice(0, -1) }
  replaceMessage = (at, message) => { this.messages = this.messages.with(at, structuredClone(message)) }
  snapshot = (thing) => structuredClone(thing)
}

class Chat extends ai.AbstractChat {
  constructor(id, body, options = {}) {
    const transport = new ai.DefaultChatTransport({ api: options.api ?? api, headers, body })
    super({ id, transport, ...options, state: new Kept(options.messages ?? []) })
  }
}

const chat = (name, model, more, options) => new Chat(`${name}-${version}`, { model, ...more }, options)
const last = (c) => c.messages.at(-1)
const text = (message) => message.parts.filter((p) => p.type === 'text').map((p) => p.text).join('|')
const calls = (message) => message.parts.filter((p) => p.toolCallId)
const settled = async (c) => { while (c.status !== 'ready' && c.status !== 'error') await new Promise((r) => setTimeout(r, 5)) }
const weather = [{ name: 'weather', inputSchema: { type: 'object', properties: { city: { type: 'string' } } } }]

async function ask() {
  const echo = chat('echo', 'sim/echo')
  await echo.sendMessage({ text: 'one' })
  assert.equal(echo.status, 'ready')
  assert.equal(text(last(echo)), 'one')
  assert(last(echo).metadata.session_id && last(echo).metadata.usage.output_tokens > 0)
  await echo.sendMessage({ text: 'two' })
  assert.equal(text(last(echo)), 'two')
  assert.equal(last(echo).metadata.session_id, echo.messages[1].metadata.session_id)
  ok('ask and continue')

  await echo.regenerate()
  assert.deepEqual(echo.messages.map(text), ['one', 'one', 'two', 'two'])
  assert.notEqual(last(echo).metadata.session_id, echo.messages[1].metadata.session_id)
  ok('regenerate')

  await echo.sendMessage({ text: 'other', messageId: echo.messages[2].id })
  assert.deepEqual(echo.messages.map(text), ['one', 'one', 'other', 'other'])
  ok('edit')

  const { messages } = await get(`${echo.id}/messages`)
  assert.deepEqual(messages.map(text), ['one', 'one', 'other', 'other'])
  assert.deepEqual(messages.map((m) => m.id), echo.messages.map((m) => m.id))
  await ai.validateUIMessages({ messages })
  ok('messages after a reload')

  const steps = chat('steps', 'sim/script')
  await steps.sendMessage({ text: script(
    [{ reasoning: 'Hm.' }, { text: 'Let me look.' }, { tool_call: { name: 'nowhere', arguments: { a: 1 } } }],
    [{ text: 'Done.' }]) })
  assert.equal(text(last(steps)), 'Let me look.|Done.')
  assert.equal(last(steps).parts.find((p) => p.type === 'reasoning').text, 'Hm.')
  assert.equal(last(steps).parts.filter((p) => p.type === 'step-start').length, 2)
  const [missing] = calls(last(steps))
  assert.equal(missing.state, 'output-error')
  assert.deepEqual([missing.toolName, missing.input, missing.providerExecuted], ['nowhere', { a: 1 }, true])
  ok('reasoning, steps and tools of the server')

  const own = chat('own', 'sim/script', { tools: weather }, {
    sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall: ({ toolCall }) => {
      own.addToolResult({ tool: 'weather', toolCallId: toolCall.toolCallId, output: `-3 in ${toolCall.input.city}` })
    },
  })
  const call = { tool_call: { name: 'weather', arguments: { city: 'Oslo' } } }
  await own.sendMessage({ text: script([{ text: 'Let me look.' }, call], [{ text: 'Cold.' }]) })
  while (own.messages.length < 2 || !text(last(own)).endsWith('Cold.')) await new Promise((r) => setTimeout(r, 5))
  await settled(own)
  assert.equal(own.messages.length, 2)
  assert.equal(text(last(own)), 'Let me look.|Cold.')
  assert.deepEqual(calls(last(own)).map((p) => [p.type, p.state, p.output]), [['tool-weather', 'output-available', '-3 in Oslo']])
  ok('tools of the client')

  if (version >= 6) {
    const slug = `asks-${version}`
    const grants = [{ tool: 'current_time', effect: 'ask' }]
    const made = await fetch(`${url}/v1/agents`, {
      method: 'POST', headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ slug, name: 'Asks', tools: ['current_time'], grants }),
    })
    assert.equal(made.status, 201)
    const api = `${url}/ai-sdk/${slug}`
    for (const approved of [true, false]) {
      const asked = chat(`approve-${approved}`, 'sim/tool', {}, {
        api,
        sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithApprovalResponses,
      })
      await asked.sendMessage({ text: 'What time is it?' })
      const [waiting] = calls(last(asked))
      assert.equal(waiting.state, 'approval-requested')
      await asked.addToolApprovalResponse({ id: waiting.approval.id, approved, reason: 'I say so.' })
      while (!text(last(asked))) await new Promise((r) => setTimeout(r, 5))
      await settled(asked)
      assert.equal(calls(last(asked))[0].state, approved ? 'output-available' : 'output-denied')
      assert.equal(asked.messages.length, 2)
      const loaded = await get(`${asked.id}/messages`, api)
      assert.equal(calls(loaded.messages[1])[0].state, approved ? 'output-available' : 'output-denied')
    }
    ok('approvals')
  }

  const failing = chat('failing', 'sim/script', {}, { onError: () => {} })
  await failing.sendMessage({ text: script([{ text: 'Half an answ' }, { error: { class: 'content_filter', retryable: false } }]) })
  assert.equal(failing.status, 'error')
  assert(failing.error.message.length > 10)
  assert.equal(text(last(failing)), 'Half an answ')
  const nowhere = chat('nowhere', 'no/such', {}, { onError: () => {} })
  await nowhere.sendMessage({ text: 'hello' })
  assert.equal(nowhere.status, 'error')
  assert(nowhere.error.message.includes('model'))
  ok('errors')

  const long = chat('long', 'sim/lorem-2000-2')
  const sent = long.sendMessage({ text: 'Tell me more.' })
  while (!long.messages[1] || text(last(long)).length < 40) await new Promise((r) => setTimeout(r, 5))
  const again = chat('long', '', {}, { messages: (await get(`${long.id}/messages`)).messages })
  assert.equal(again.messages.length, 1)
  const resumed = again.resumeStream()
  while (!again.messages[1] || text(last(again)).length < 80) await new Promise((r) => setTimeout(r, 5))
  const stopped = await fetch(`${api}/${long.id}/stop`, { method: 'POST', headers })
  assert.equal(stopped.status, 204)
  await Promise.all([sent, resumed])
  assert.equal(text(last(again)), text(last(long)))
  assert.equal(last(again).metadata.status, 'cancelled')
  const idle = await fetch(`${api}/${long.id}/stream`, { headers })
  assert.equal(idle.status, 204)
  ok('resume and stop')

  const left = chat('left', 'sim/lorem-300-5')
  left.sendMessage({ text: 'Go on without me.' })
  while (!left.messages[1] || text(last(left)).length < 40) await new Promise((r) => setTimeout(r, 5))
  writeFileSync(state, left.id)
  process.exit(0)
}

async function reload() {
  const id = readFileSync(state, 'utf8')
  const { messages } = await get(`${id}/messages`)
  assert.equal(messages[0].parts[0].text, 'Go on without me.')
  const left = new Chat(id, {}, { messages: messages.slice(0, 1) })
  await left.resumeStream()
  const done = left.messages[1] ?? (await get(`${id}/messages`)).messages[1]
  assert(text(done).length > 300)
  ok('an answer survives a kill')
}

await (phase === 'reload' ? reload : ask)()
