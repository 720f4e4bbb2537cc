// Checks of the SDK of the Agent Client Protocol against `parley acp`: it prints "ok NAME" for each check that passed, and
// fails at the first that did not. PROGRAM is the agent that it starts, as an editor does. The server is killed and
// started again once the file STATE is there.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { client, ndJsonStream, PROTOCOL_VERSION } from '@agentclientprotocol/sdk'

const { CHECKED_URL: url, CHECKED_KEY: key, STATE: state, PROGRAM: program } = process.env
const ok = (name) => console.log('ok', name)
const script = (...steps) => JSON.stringify(steps)
const text = (t) => [{ type: 'text', text: t }]
const cwd = mkdtempSync(join(tmpdir(), 'parley-editor-'))
const api = async (method, path, body) => {
  const answer = await fetch(`${url}/v1/${path}`, {
    method, body: body && JSON.stringify(body),
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  })
  assert(answer.ok, `${method} ${path}: ${answer.status} ${answer.ok ? '' : await answer.clone().text()}`)
  return answer.json()
}
const agentNamed = (slug, more) => api('POST', 'agents', { slug, name: slug, model: 'sim/script', ...more })

// An editor with what its user does and what it was told.
async function editor(capabilities = {}, args = []) {
  const e = { updates: [], asked: [], asks: {}, files: new Map(), ran: [], answer: () => 'once', fill: undefined }
  e.process = spawn(program, ['acp', '--url', url, ...args], { env: { ...process.env, PARLEY_KEY: key } })
  e.said = ''
  e.process.stderr.on('data', (d) => { e.said += d })
  e.ended = new Promise((resolve) => { e.process.on('exit', (code) => resolve(code)) })
  const app = client({ name: 'checks' })
    .onNotification('session/update', ({ params }) => { e.updates.push(params) })
    .onRequest('session/request_permission', async ({ params, signal }) => {
      e.asked.push(params)
      const optionId = await e.answer(params, signal)
      return { outcome: optionId ? { outcome: 'selected', optionId } : { outcome: 'cancelled' } }
    })
    .onRequest('fs/read_text_file', ({ params }) => {
      if (!e.files.has(params.path)) throw new Error('no such file')
      const lines = e.files.get(params.path).split('\n')
      const from = (params.line ?? 1) - 1
      return { content: lines.slice(from, params.limit ? from + params.limit : undefined).join('\n') }
    })
    .onRequest('fs/write_text_file', ({ params }) => { e.files.set(params.path, params.content); return {} })
    .onRequest('terminal/create', ({ params }) => { e.ran.push(params); return { terminalId: `t${e.ran.length}` } })
    .onRequest('terminal/wait_for_exit', () => ({ exitCode: 3 }))
    .onRequest('terminal/output', () => ({ output: 'made\n', truncated: false, exitStatus: { exitCode: 3 } }))
    .onRequest('terminal/release', ({ params }) => { e.released = params.terminalId; return {} })
    .onRequest('elicitation/create', ({ params }) => e.fill(params))
  e.connection = app.connect(ndJsonStream(Writable.toWeb(e.process.stdin), Readable.toWeb(e.process.stdout)))
  e.ask = (method, params, options) => e.connection.agent.request(method, params, options)
  e.hello = await e.ask('initialize', { protocolVersion: PROTOCOL_VERSION, clientCapabilities: capabilities })
  e.open = () => e.ask('session/new', { cwd, mcpServers: [] })
  e.prompt = (sessionId, prompt, options) => {
    e.updates = []
    return e.ask('session/prompt', { sessionId, prompt: typeof prompt === 'string' ? text(prompt) : prompt }, options)
  }
  e.of = (kind) => e.updates.map((u) => u.update).filter((u) => u.sessionUpdate === kind)
  e.text = (kind = 'agent_message_chunk') => e.of(kind).map((u) => u.content.text).join('')
  e.calls = () => { // as an editor has them in the end
    const calls = new Map()
    for (const u of e.updates.map((u) => u.update)) {
      if (u.sessionUpdate === 'tool_call') calls.set(u.toolCallId, { ...u })
      if (u.sessionUpdate === 'tool_call_update') {
        assert(calls.has(u.toolCallId), 'an update of a call that was not told')
        Object.assign(calls.get(u.toolCallId), u)
      }
    }
    return [...calls.values()]
  }
  e.close = async () => { e.process.stdin.end(); assert.equal(await e.ended, 0); assert.equal(e.said, '') }
  return e
}

const until = async (condition) => {
  for (let tries = 0; tries < 600; tries++) {
    const found = await condition()
    if (found) return found
    await new Promise((resolve) => { setTimeout(resolve, 50) })
  }
  throw new Error(`it does not happen: ${condition}`)
}

async function ask() {
  await agentNamed('acp-echo', { model: 'sim/echo', description: 'Says it again' })
  await agentNamed('acp-slow', { model: 'sim/lorem-400-10' })
  await agentNamed('acp-time', { tools: ['current_time'], grants: [{ tool: 'current_time', effect: 'ask' }] })
  await agentNamed('acp-script', { tools: ['ask_user', 'current_time'] })

  const e = await editor({ fs: { readTextFile: true, writeTextFile: true }, terminal: true }, ['--agent', 'acp-echo'])
  assert.equal(e.hello.protocolVersion, 1)
  assert(e.hello.agentCapabilities.loadSession && e.hello.agentCapabilities.promptCapabilities.image)
  const made = await e.open()
  const { sessionId } = made
  assert.deepEqual(await e.prompt(sessionId, 'one'), { stopReason: 'end_turn' })
  assert.equal(e.text(), 'one')
  assert.equal(e.of('session_info_update')[0].title, 'one')
  await e.prompt(sessionId, 'two')
  assert.equal(e.text(), 'two')
  assert.equal((await api('GET', `sessions/${sessionId}/messages`)).data.length, 4)
  ok('ask and continue')

  const mode = made.modes.availableModes.find((m) => m.id === 'acp-echo')
  assert.deepEqual([made.modes.currentModeId, mode.description], ['acp-echo', 'Says it again'])
  await e.ask('session/set_mode', { sessionId, modeId: 'acp-script' })
  assert.deepEqual(await e.prompt(sessionId, script([{ reasoning: 'Hm. ' }, { text: 'I am another.' }])),
    { stopReason: 'end_turn' })
  assert.deepEqual([e.text('agent_thought_chunk'), e.text()], ['Hm. ', 'I am another.'])
  await assert.rejects(e.ask('session/set_mode', { sessionId, modeId: 'acp-nobody' }), { code: -32002 })
  const empty = await e.open()
  await e.ask('session/set_mode', { sessionId: empty.sessionId, modeId: 'acp-script' })
  await e.prompt(empty.sessionId, script([{ text: 'Hello.' }]))
  assert.equal(e.text(), 'Hello.')
  ok('modes are agents')

  const again = await editor()
  const loaded = await again.ask('session/load', { sessionId, cwd, mcpServers: [] })
  assert.equal(loaded.modes.currentModeId, 'acp-script')
  assert.deepEqual(again.updates.map((u) => u.update.sessionUpdate), ['user_message_chunk', 'agent_message_chunk',
    'user_message_chunk', 'agent_message_chunk', 'user_message_chunk', 'agent_thought_chunk', 'agent_message_chunk'])
  await again.prompt(sessionId, script([{ text: 'Still here.' }]))
  assert.equal(again.text(), 'Still here.')
  await again.close()
  const resumed = await editor()
  await resumed.ask('session/resume', { sessionId, cwd })
  assert.equal(resumed.updates.length, 0)
  await resumed.prompt(sessionId, script([{ text: 'And here.' }]))
  assert.equal(resumed.text(), 'And here.')
  ok('load and resume')

  const all = await resumed.ask('session/list', {})
  const here = await resumed.ask('session/list', { cwd })
  assert.equal(here.sessions.length, 2)
  assert(all.sessions.length >= 2 && here.sessions.every((s) => s.cwd === cwd && s.title && s.updatedAt))
  assert(!here.sessions.some((s) => s.sessionId === sessionId), 'it is listed where it goes on')
  await resumed.ask('session/load', { sessionId: here.sessions[0].sessionId, cwd, mcpServers: [] })
  await assert.rejects(resumed.ask('session/load', { sessionId: 'none', cwd, mcpServers: [] }), { code: -32002 })
  await resumed.ask('session/close', { sessionId })
  await assert.rejects(resumed.prompt(sessionId, 'closed'), { code: -32002 })
  await resumed.close()
  ok('list and close')

  const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
  const shown = await e.open()
  await e.prompt(shown.sessionId, [
    ...text('Look.'), { type: 'image', mimeType: 'image/png', data: pixel },
    { type: 'resource', resource: { uri: 'file:///a/b.txt', mimeType: 'text/plain', text: 'inside' } },
    { type: 'resource', resource: { uri: 'file:///a/long.txt', text: 'long '.repeat(5000) } },
    { type: 'resource_link', uri: 'https://example.org/', name: 'Example' },
    { type: 'resource_link', uri: 'file:///a/c.txt', name: 'c.txt' },
  ])
  const [message] = (await api('GET', `sessions/${shown.sessionId}/messages`)).data
  assert.deepEqual(message.content.parts.map((p) => p.type), ['text', 'image', 'text', 'file', 'link', 'text'])
  assert(message.content.parts[2].text.includes('inside') && message.content.parts[5].text.includes('/a/c.txt'))
  const seen = await editor()
  await seen.ask('session/load', { sessionId: shown.sessionId, cwd, mcpServers: [] })
  assert.equal(seen.of('user_message_chunk')[1].content.data, pixel)
  await seen.close()
  await assert.rejects(e.prompt(shown.sessionId, [{ type: 'image', mimeType: 'image/png', data: '%' }]), { code: -32602 })
  ok('images, resources and links')

  const timely = await e.open()
  await e.ask('session/set_mode', { sessionId: timely.sessionId, modeId: 'acp-time' })
  const time = script([{ tool_call: { name: 'current_time', arguments: {} } }], [{ text: 'It is late.' }])
  for (const [option, status] of [['once', 'completed'], ['reject', 'failed'], ['session_tool', 'completed']]) {
    e.asked = []
    e.answer = () => option
    assert.deepEqual(await e.prompt(timely.sessionId, time), { stopReason: 'end_turn' })
    assert.equal(e.asked.length, 1)
    assert.deepEqual(e.asked[0].options.map((o) => o.optionId), ['once', 'session_call', 'session_tool', 'reject'])
    const [call] = e.calls()
    assert.deepEqual([call.status, call.toolCallId], [status, e.asked[0].toolCall.toolCallId])
  }
  e.asked = []
  await e.prompt(timely.sessionId, time)
  assert.equal(e.asked.length, 0)
  ok('approvals')

  const elsewhere = await e.open()
  await e.ask('session/set_mode', { sessionId: elsewhere.sessionId, modeId: 'acp-time' })
  let withdrawn
  e.answer = (_, signal) => new Promise((resolve) => {
    signal?.addEventListener('abort', () => { withdrawn = true; resolve('reject') })
  })
  const waiting = e.prompt(elsewhere.sessionId, time)
  const pending = await until(async () => (await api('GET', 'approvals?status=pending')).data[0])
  await until(() => e.asked.length === 1)
  await api('POST', `approvals/${pending.id}`, { decision: 'approve' })
  assert.deepEqual(await waiting, { stopReason: 'end_turn' })
  await until(() => withdrawn)
  assert.equal(e.calls()[0].status, 'completed')
  ok('an approval that somebody else decides')

  const own = await e.open()
  await e.ask('session/set_mode', { sessionId: own.sessionId, modeId: 'acp-script' })
  const notes = join(cwd, 'notes.txt')
  e.files.set(notes, 'a\nb\nc')
  const of = (name, args) => script([{ tool_call: { name, arguments: args } }], [{ text: 'Done.' }])
  e.asked = []
  e.answer = () => 'once'
  await e.prompt(own.sessionId, of('editor_read_file', { path: 'notes.txt', line: 2, limit: 1 }))
  assert.deepEqual([e.calls()[0].kind, e.calls()[0].status, e.calls()[0].rawOutput], ['read', 'completed', 'b'])
  assert.equal(e.asked.length, 0)
  e.answer = async () => {
    await new Promise((resolve) => { setTimeout(resolve, 200) })
    assert.equal(e.files.get(notes), 'a\nb\nc', 'it is written before its user allows it')
    return 'once'
  }
  await e.prompt(own.sessionId, of('editor_write_file', { path: notes, text: 'new' }))
  e.answer = () => 'once'
  assert.equal(e.files.get(notes), 'new')
  assert.deepEqual(e.asked[0].toolCall.content, [{ type: 'diff', path: notes, oldText: 'a\nb\nc', newText: 'new' }])
  assert.deepEqual(e.calls()[0].content, e.asked[0].toolCall.content)
  await e.prompt(own.sessionId, of('editor_run_command', { command: 'make', args: ['all'] }))
  assert.deepEqual([e.ran[0].command, e.ran[0].args, e.ran[0].cwd], ['make', ['all'], cwd])
  const [command] = e.calls()
  assert.deepEqual([command.kind, command.content, command.rawOutput.exit_code, command.rawOutput.output],
    ['execute', [{ type: 'terminal', terminalId: 't1' }], 3, 'made\n'])
  assert.deepEqual([e.asked.length, e.released], [2, 't1'])
  e.answer = () => 'reject'
  await e.prompt(own.sessionId, of('editor_write_file', { path: notes, text: 'newer' }))
  assert.deepEqual([e.files.get(notes), e.calls()[0].status], ['new', 'failed'])
  await e.prompt(own.sessionId, of('editor_read_file', { path: '/nowhere' }))
  assert.equal(e.calls()[0].status, 'failed')
  e.answer = () => 'session_tool'
  await e.prompt(own.sessionId, of('editor_write_file', { path: notes, text: '1' }))
  e.asked = []
  await e.prompt(own.sessionId, of('editor_write_file', { path: notes, text: '2' }))
  assert.deepEqual([e.files.get(notes), e.asked.length], ['2', 0])
  ok('files and terminal of the editor')

  const question = script([{ tool_call: { name: 'ask_user', arguments: { question: 'Which city?', options: ['Oslo'] } } }],
    [{ text: 'Thanks.' }])
  assert.deepEqual(await e.prompt(own.sessionId, question), { stopReason: 'end_turn' })
  assert.equal(e.text(), 'Which city?\n- Oslo')
  assert.deepEqual(await e.prompt(own.sessionId, 'Rome'), { stopReason: 'end_turn' })
  assert.deepEqual([e.text(), e.of('tool_call_update').map((u) => u.rawOutput)], ['Thanks.', ['Rome']])
  const both = script(['Which city?', 'Which day?'].map((q) =>
    ({ tool_call: { name: 'ask_user', arguments: { question: q } } })), [{ text: 'Thanks twice.' }])
  const said = []
  for (const words of [both, 'Rome', 'Monday']) {
    assert.deepEqual(await e.prompt(own.sessionId, words), { stopReason: 'end_turn' })
    said.push(e.text())
  }
  assert.deepEqual(said, ['Which city?', 'Which day?', 'Thanks twice.'])
  const forms = await editor({ elicitation: { form: {} } })
  await forms.ask('session/resume', { sessionId: own.sessionId, cwd })
  forms.fill = ({ message }) => ({ action: 'accept', content: { answer: message === 'Which city?' ? 'Oslo' : '' } })
  assert.deepEqual(await forms.prompt(own.sessionId, question), { stopReason: 'end_turn' })
  assert.deepEqual([forms.text(), forms.calls()[0].rawOutput], ['Thanks.', 'Oslo'])
  forms.fill = ({ message }) => ({ action: message === 'Which day?' ? 'decline' : 'accept', content: { answer: 'Rome' } })
  assert.deepEqual(await forms.prompt(own.sessionId, both), { stopReason: 'end_turn' })
  assert.deepEqual([forms.text(), forms.calls().map((c) => c.status)], ['Thanks twice.', ['completed', 'failed']])
  await forms.close()
  ok('questions')

  await assert.rejects(e.prompt(own.sessionId, script([{ text: 'Half' },
    { error: { class: 'model', retryable: false } }])), (err) => {
    assert.deepEqual([err.code, err.data.class], [-32603, 'model'])
    return true
  })
  assert.deepEqual(await e.prompt(own.sessionId, script([{ refusal: 'No.' }])), { stopReason: 'refusal' })
  assert(e.text().length > 10)
  await assert.rejects(e.ask('session/fork', { sessionId: own.sessionId, cwd }), { code: -32601 })
  await assert.rejects(e.ask('authenticate', { methodId: 'none' }), { code: -32602 })
  const strange = spawn(program, ['acp', '--url', url], { env: { ...process.env, PARLEY_KEY: 'pk_wrong' } })
  const refused = client({ name: 'checks' })
    .connect(ndJsonStream(Writable.toWeb(strange.stdin), Readable.toWeb(strange.stdout)))
  await refused.agent.request('initialize', { protocolVersion: 1 })
  await assert.rejects(refused.agent.request('session/new', { cwd, mcpServers: [] }), { code: -32000 })
  strange.kill()
  ok('errors')

  await e.ask('session/set_mode', { sessionId, modeId: 'acp-slow' })
  const cut = e.prompt(sessionId, 'Tell me more.')
  await until(() => e.text() !== '')
  await e.connection.agent.notify('session/cancel', { sessionId })
  assert.deepEqual(await cut, { stopReason: 'cancelled' })
  await e.ask('session/set_mode', { sessionId: own.sessionId, modeId: 'acp-time' })
  e.asked = []
  e.answer = (_, signal) => new Promise((resolve) => { signal?.addEventListener('abort', () => resolve(undefined)) })
  const held = e.prompt(own.sessionId, time)
  await until(() => e.asked.length === 1)
  await e.connection.agent.notify('session/cancel', { sessionId: own.sessionId })
  assert.deepEqual(await held, { stopReason: 'cancelled' })
  e.answer = () => undefined // the user dismisses the question
  assert.deepEqual(await e.prompt(own.sessionId, time), { stopReason: 'cancelled' })
  const stop = new AbortController()
  const withdraws = e.prompt(sessionId, 'And more.', { cancellationSignal: stop.signal })
  await until(() => e.text() !== '')
  stop.abort()
  await withdraws.catch(() => {})
  await until(async () => (await api('GET', 'sessions?status=running')).data.length === 0)
  ok('cancel')

  e.answer = () => 'once'
  const through = e.prompt(sessionId, 'Go on.')
  await until(() => e.text().length > 100)
  const before = e.text()
  writeFileSync(state, JSON.stringify({ sessionId, own: own.sessionId, cwd })) // the server is killed now
  assert.deepEqual(await through, { stopReason: 'end_turn' })
  assert(e.text().length > before.length + 100)
  await e.prompt(own.sessionId, time)
  assert.equal(e.text(), 'It is late.')
  ok('an answer survives a kill of the server')

  const left = await e.open()
  await e.ask('session/set_mode', { sessionId: left.sessionId, modeId: 'acp-script' })
  e.answer = () => new Promise(() => {})
  e.asked = []
  e.prompt(left.sessionId, of('editor_write_file', { path: notes, text: 'after' })).catch(() => {})
  await until(() => e.asked.length === 1)
  e.prompt(sessionId, 'Go on without me.').catch(() => {})
  await until(() => e.text().length > 50)
  e.process.kill('SIGKILL')
  await e.ended
  const next = await editor({ fs: { readTextFile: true, writeTextFile: true } })
  await next.ask('session/load', { sessionId, cwd, mcpServers: [] })
  const user = next.of('user_message_chunk').length
  await until(async () => (await api('GET', 'sessions?status=running')).data.length === 0)
  const record = (await api('GET', `sessions/${await current(sessionId)}/messages?order=desc&limit=1`)).data[0]
  const streamed = () => next.updates.map((u) => u.update).filter((u) => u.messageId === record.id)
    .map((u) => u.content.text).join('')
  await until(() => streamed().length >= record.content.text.length)
  assert.equal(streamed(), record.content.text)
  assert(user >= 6)
  await next.ask('session/load', { sessionId: left.sessionId, cwd, mcpServers: [] })
  await until(() => next.files.get(notes) === 'after')
  assert.equal(next.asked.length, 1)
  ok('a turn survives a kill of the program')
  await next.close()
}

// current is where a conversation has gone on since its agent was changed.
async function current(id) {
  const next = (await api('GET', `sessions/${id}`)).metadata.acp.continued_in_id
  return next ? current(next) : id
}

try {
  await ask()
} finally {
  rmSync(cwd, { recursive: true, force: true })
}
process.exit(0)
