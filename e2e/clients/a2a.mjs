// Checks of the package @a2a-js/sdk against a server: it prints "ok NAME" for each check that passed, and fails at the
// first that did not. The phase "reload" runs after the server was killed, with what "ask" has left in the file STATE.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { Role, TaskState } from '@a2a-js/sdk'
import { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client'
import { ContentTypeNotSupportedError, TaskNotCancelableError, TaskNotFoundError,
  UnsupportedOperationError } from '@a2a-js/sdk/errors'

const { CHECKED_URL: url, CHECKED_KEY: key, PHASE: phase, STATE: state } = process.env
const ok = (name) => console.log('ok', name)
const script = (...steps) => JSON.stringify(steps)
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
const connected = (path, authorization = headers.authorization) => {
  const fetchImpl = (to, init) => fetch(to, { ...init, headers: { ...init?.headers, authorization } })
  return new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory({ fetchImpl })], cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  })).createFromUrl(`${url}${path}`)
}
const textOf = (value) => ({ content: { $case: 'text', value } })
const dataOf = (value) => ({ content: { $case: 'data', value } })
const says = (text, to = {}) => ({ messageId: crypto.randomUUID(), role: Role.ROLE_USER,
  parts: typeof text === 'string' ? [textOf(text)] : text, ...to })
const ask = (text, model = 'sim/echo', to, configuration) =>
  ({ message: says(text, to), metadata: { model }, configuration })
const answer = (task) => task.artifacts.map((a) => a.parts.map((p) => p.content.value).join('')).join('')
const isState = (task, name) => assert.equal(TaskState[task.status.state], `TASK_STATE_${name}`)
const refused = (promise, kind) => assert.rejects(promise, (e) => {
  assert((e.cause ?? e) instanceof kind, `${e} is not ${kind.name}`)
  return true
})
async function heard(stream) {
  const events = []
  for await (const { payload } of stream) events.push({ kind: payload.$case, ...payload.value })
  return events
}
// assembled puts artifacts together as a client does.
function assembled(events) {
  const texts = new Map()
  for (const e of events) {
    for (const a of e.kind === 'task' ? e.artifacts : e.kind === 'artifactUpdate' ? [e.artifact] : []) {
      const text = a.parts.map((p) => p.content.value).join('')
      texts.set(a.artifactId, e.append ? texts.get(a.artifactId) + text : text)
    }
  }
  return [...texts.values()].join('')
}
async function made(slug, settings) {
  const response = await fetch(`${url}/v1/agents`, { method: 'POST', headers, body: JSON.stringify({ slug, name: slug, ...settings }) })
  assert.equal(response.status, 201)
  return connected(`/a2a/${slug}/`)
}

async function asks() {
  const server = await connected('')
  const card = await server.getAgentCard()
  assert.equal(card.supportedInterfaces[0].url, `${url}/a2a`)
  assert(card.skills.some((s) => s.id === 'parley') && card.securitySchemes.key.scheme.$case === 'httpAuthSecurityScheme')
  const client = await connected('/a2a/parley/')
  assert.equal((await client.getAgentCard()).supportedInterfaces[0].url, `${url}/a2a/parley`)
  await assert.rejects(connected('', 'Bearer pk_wrong'), /401/)
  ok('agent cards')

  const one = await client.sendMessage(ask('one'))
  isState(one, 'COMPLETED')
  assert.equal(answer(one), 'one')
  assert.equal(one.history[0].parts[0].content.value, 'one')
  const two = await client.sendMessage(ask('two', undefined, { contextId: one.contextId }, { historyLength: 0 }))
  assert.equal(answer(two), 'two')
  assert.equal(two.contextId, one.contextId)
  assert.deepEqual(two.history, [])
  assert.equal(answer(await server.sendMessage({ tenant: 'parley', ...ask('three') })), 'three')
  ok('ask and continue')

  const once = ask('once')
  assert.equal((await client.sendMessage(once)).id, (await client.sendMessage(once)).id)
  ok('the same message again')

  const parts = [textOf('See '), { content: { $case: 'raw', value: Buffer.from('notes') }, filename: 'a.txt', mediaType: 'text/plain' },
    { content: { $case: 'url', value: 'https://example.com/a' } }, dataOf({ a: 1 })]
  const sent = (await client.sendMessage(ask(parts))).history[0].parts
  assert.deepEqual(sent.map((p) => p.content.$case), ['text', 'url', 'url', 'text'])
  assert.equal(sent[1].filename, 'a.txt')
  ok('files, links and data')

  const long = 'Ein langer Satz mit Umlauten – äöü – und mehr als einem Stück, damit er geteilt wird. 日本語もあります。'
  const events = await heard(client.sendMessageStream(ask(long)))
  assert.equal(events[0].kind, 'task')
  assert(events.filter((e) => e.kind === 'artifactUpdate').length > 1)
  assert.equal(assembled(events), long)
  isState(events.at(-1), 'COMPLETED')
  assert.equal(events.filter((e) => e.lastChunk).length, 1)
  ok('stream')

  assert.equal(answer(await client.getTask({ id: two.id })), 'two')
  const list = await client.listTasks({ contextId: one.contextId, includeArtifacts: true })
  assert.deepEqual(list.tasks.map(answer), ['two', 'one'])
  const all = []
  for (let pageToken = ''; ;) {
    const page = await client.listTasks({ pageSize: 2, pageToken, status: TaskState.TASK_STATE_COMPLETED })
    assert(page.tasks.length <= 2 && page.totalSize >= all.length)
    all.push(...page.tasks.map((t) => t.id))
    if (!(pageToken = page.nextPageToken)) break
  }
  assert(all.includes(one.id) && all.includes(two.id) && new Set(all).size === all.length)
  assert.equal((await client.listTasks({ status: TaskState.TASK_STATE_REJECTED })).tasks.length, 0)
  ok('get and list')

  const nobody = crypto.randomUUID()
  await refused(client.getTask({ id: nobody }), TaskNotFoundError)
  await refused(client.cancelTask({ id: nobody }), TaskNotFoundError)
  await refused(client.cancelTask({ id: one.id }), TaskNotCancelableError)
  await refused(heard(client.resubscribeTask({ id: one.id })), UnsupportedOperationError)
  await refused(heard(client.resubscribeTask({ id: nobody })), TaskNotFoundError)
  await refused(client.sendMessage(ask('x', undefined, { taskId: one.id })), UnsupportedOperationError)
  await refused(client.sendMessage(ask('x', undefined, {}, { acceptedOutputModes: ['video/mp4'] })), ContentTypeNotSupportedError)
  await assert.rejects(client.sendMessage(ask('x', undefined, { contextId: nobody })), /context/)
  await assert.rejects(client.sendMessage(ask('x', 'no/such')), /model/)
  await assert.rejects(client.sendMessage(ask([dataOf(undefined)])), /part/)
  for (const version of [{}, { 'A2A-Version': '0.3' }]) {
    const old = await fetch(`${url}/a2a`, { method: 'POST', headers: { ...headers, ...version },
      body: '{"jsonrpc":"2.0","id":7,"method":"GetTask"}' })
    const { id, error } = await old.json()
    assert.deepEqual([old.status, id, error.code], [200, 7, -32009])
  }
  ok('errors')

  const broken = script([{ text: 'Half' }, { error: { class: 'content_filter', retryable: false } }])
  const fails = await client.sendMessage(ask(broken, 'sim/script'))
  isState(fails, 'FAILED')
  assert(fails.status.message.parts[0].content.value.length > 10)
  isState((await heard(client.sendMessageStream(ask(broken, 'sim/script')))).at(-1), 'FAILED')
  ok('a task that fails')

  const endless = await client.sendMessage(ask('tell', 'sim/lorem-4000-50', {}, { returnImmediately: true }))
  assert([TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING].includes(endless.status.state))
  const watching = client.resubscribeTask({ id: endless.id })
  assert(!(await watching.next()).done) // it watches before the task is over
  const stopped = await client.cancelTask({ id: endless.id })
  isState(stopped, 'CANCELED')
  isState((await heard(watching)).at(-1), 'CANCELED')
  isState(await client.cancelTask({ id: endless.id }), 'CANCELED')
  ok('return at once, subscribe and cancel')

  const careful = await made('careful', { tools: ['current_time', 'ask_user'], grants: [{ tool: 'current_time', effect: 'ask' }] })
  for (const [decision, success] of [['approve', true], ['deny', false]]) {
    const waits = await careful.sendMessage(ask('What time is it?', 'sim/tool'))
    isState(waits, 'INPUT_REQUIRED')
    const { approvalId, tool } = waits.status.message.parts[1].content.value
    assert.equal(tool, 'current_time')
    await assert.rejects(careful.sendMessage(ask('perhaps', undefined, { taskId: waits.id })), /approve or deny/)
    const reply = success ? [dataOf({ approvalId, decision })] : decision
    const done = await careful.sendMessage(ask(reply, undefined, { taskId: waits.id }))
    isState(done, 'COMPLETED')
    assert.equal(done.id, waits.id)
    const { data } = await (await fetch(`${url}/v1/sessions/${done.contextId}/messages`, { headers })).json()
    assert.equal(data.find((m) => m.role === 'tool_result').content.success, success)
  }
  ok('approvals')

  const question = script([{ tool_call: { name: 'ask_user', arguments: { question: 'Which city?' } } }], [{ text: 'Thanks.' }])
  const asked = (await heard(careful.sendMessageStream(ask(question, 'sim/script')))).at(-1)
  isState(asked, 'INPUT_REQUIRED')
  assert.equal(asked.status.message.parts[0].content.value, 'Which city?')
  const thanks = await careful.sendMessage(ask('Oslo', undefined, { taskId: asked.taskId }))
  assert.equal(answer(thanks), 'Thanks.')
  assert.deepEqual(thanks.history.slice(1).map((m) => m.parts[0].content.value), ['Which city?', 'Oslo'])
  ok('questions')

  const tools = await made('with-tools', { tools: [{ name: 'weather', parameters: { type: 'object', properties: {} } }] })
  const call = { tool_call: { name: 'weather', arguments: { city: 'Oslo' } } }
  const calls = await tools.sendMessage(ask(script([{ text: 'Look. ' }, call, call], [{ text: 'Cold.' }]), 'sim/script'))
  isState(calls, 'INPUT_REQUIRED')
  const open = calls.status.message.parts.flatMap((p) => p.content.$case === 'data' ? [p.content.value] : [])
  assert.deepEqual(open.map((o) => o.arguments), [{ city: 'Oslo' }, { city: 'Oslo' }])
  const cold = await tools.sendMessage(ask(open.map((o) => dataOf({ toolCallId: o.toolCallId, result: -3 })), undefined, { taskId: calls.id }))
  assert.equal(answer(cold), 'Look. Cold.')
  ok('tool calls')

  const got = []
  let heardAll
  const all4 = new Promise((done) => { heardAll = done })
  const receiver = createServer((request, response) => {
    let body = ''
    request.on('data', (piece) => { body += piece }).on('end', () => {
      got.push({ ...JSON.parse(body).statusUpdate, headers: request.headers })
      response.end()
      if (got.at(-1).status.state === 'TASK_STATE_COMPLETED') heardAll()
    })
  })
  await new Promise((done) => receiver.listen(0, '127.0.0.1', done))
  const to = { url: `http://127.0.0.1:${receiver.address().port}/`, token: 'shh', authentication: { scheme: 'Bearer', credentials: 'secret' } }
  const pushes = await careful.sendMessage(ask('What time is it?', 'sim/tool', {}, { taskPushNotificationConfig: { id: 'p', ...to } }))
  const ref = { taskId: pushes.id, id: 'p' }
  assert.equal((await careful.getTaskPushNotificationConfig(ref)).url, to.url)
  const second = await careful.createTaskPushNotificationConfig({ taskId: pushes.id, ...to })
  assert(second.id && !second.token && !second.authentication.credentials)
  const configs = async () => (await careful.listTaskPushNotificationConfig({ taskId: pushes.id })).configs.map((c) => c.id)
  assert.deepEqual(await configs(), ['p', second.id])
  await careful.deleteTaskPushNotificationConfig({ taskId: pushes.id, id: second.id })
  assert.deepEqual(await configs(), ['p'])
  await refused(careful.getTaskPushNotificationConfig({ taskId: pushes.id, id: second.id }), TaskNotFoundError)
  await careful.sendMessage(ask('approve', undefined, { taskId: pushes.id }))
  await all4
  while ((await configs()).length) await new Promise((done) => setTimeout(done, 50)) // it ends with its task
  const states = got.map((g) => g.status.state)
  assert(states.includes('TASK_STATE_INPUT_REQUIRED') && states.at(-1) === 'TASK_STATE_COMPLETED', `${states}`)
  assert(got.every((g) => g.taskId === pushes.id && g.contextId === pushes.contextId))
  assert.equal(got[0].headers['x-a2a-notification-token'], 'shh')
  assert.equal(got[0].headers.authorization, 'Bearer secret')
  await refused(careful.createTaskPushNotificationConfig({ taskId: pushes.id, ...to }), UnsupportedOperationError)
  receiver.close()
  ok('push notifications')

  for await (const { payload } of client.sendMessageStream(ask('Go on without me.', 'sim/lorem-300-5'))) {
    if (payload.$case !== 'artifactUpdate') continue
    writeFileSync(state, JSON.stringify({ id: payload.value.taskId, one: one.id, contextId: one.contextId }))
    process.exit(0)
  }
}

async function reload() {
  const { id, one, contextId } = JSON.parse(readFileSync(state))
  const client = await connected('/a2a/parley/')
  const events = await heard(client.resubscribeTask({ id })).catch((e) => {
    if (!(e.cause instanceof UnsupportedOperationError)) throw e // it is over
  })
  const told = await client.getTask({ id })
  isState(told, 'COMPLETED')
  assert(answer(told).length > 300)
  if (events) assert.equal(assembled(events), answer(told))
  ok('a task survives a kill')
  assert.equal(answer(await client.getTask({ id: one })), 'one')
  assert.equal(answer(await client.sendMessage(ask('on', undefined, { contextId }))), 'on')
  ok('continue after a kill')
}

await (phase === 'reload' ? reload : asks)()
