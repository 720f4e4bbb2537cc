// Checks of the packages of the Model Context Protocol against a server: it prints "ok NAME" for each check that passed,
// and fails at the first that did not. SDK is the package's major version: 1 speaks up to 2025-11-25, 2 speaks 2026-07-28.
// Over STDIO, if it is set, the client starts that program. The phase "reload" runs after the server was killed, with what
// "ask" has left in the file STATE.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'

const { CHECKED_URL: url, CHECKED_KEY: key, PHASE: phase, STATE: state, SDK: version, STDIO: program } = process.env
const ok = (name) => console.log('ok', name)
const script = (...steps) => JSON.stringify(steps)
const headers = { authorization: `Bearer ${key}` }
const about = { name: 'checks', version: '1' }

let Client, Http, Stdio, elicitation
if (version === '1') {
  Client = (await import('@modelcontextprotocol/sdk/client/index.js')).Client
  Http = (await import('@modelcontextprotocol/sdk/client/streamableHttp.js')).StreamableHTTPClientTransport
  Stdio = (await import('@modelcontextprotocol/sdk/client/stdio.js')).StdioClientTransport
  elicitation = (await import('@modelcontextprotocol/sdk/types.js')).ElicitRequestSchema
} else {
  ({ Client, StreamableHTTPClientTransport: Http } = await import('@modelcontextprotocol/client'))
  Stdio = (await import('@modelcontextprotocol/client/stdio')).StdioClientTransport
  elicitation = 'elicitation/create'
}

async function connected(answer) {
  const options = { capabilities: answer ? { elicitation: { form: {} } } : {} }
  if (version === '2') options.versionNegotiation = { mode: { pin: '2026-07-28' } }
  const client = new Client(about, options)
  if (answer) client.setRequestHandler(elicitation, answer)
  await client.connect(program
    ? new Stdio({ command: program, args: ['mcp', '--url', url], env: { ...process.env, PARLEY_KEY: key } })
    : new Http(new URL(`${url}/mcp`), { requestInit: { headers } }))
  return client
}

const call = (client, name, args, options) => version === '1'
  ? client.callTool({ name, arguments: args }, undefined, options) : client.callTool({ name, arguments: args }, options)
const text = (result) => result.content[0].text

async function ask() {
  const client = await connected()
  const tools = (await client.listTools()).tools
  assert(tools.some((t) => t.name === 'ask_parley'))
  assert.deepEqual(tools.slice(-4).map((t) => t.name), ['search', 'list_sessions', 'read_session', 'cancel_turn'])
  ok('tools')

  const told = []
  const onprogress = (p) => told.push(p)
  const slow = await call(client, 'ask_parley', { message: 'Tell me more.', model: 'sim/lorem-40-5' }, { onprogress })
  assert(told.length > 1 && told[0].message.includes(slow.structuredContent.session_id))
  assert(told[1].progress > told[0].progress)
  const first = await call(client, 'ask_parley', { message: 'one', model: 'sim/echo' })
  assert.equal(text(first), 'one')
  const { session_id: session } = first.structuredContent
  assert.equal(first.structuredContent.status, 'completed')
  const next = await call(client, 'ask_parley', { message: 'two', session_id: session, model: 'sim/echo' })
  assert.equal(text(next), 'two')
  assert.equal(next.structuredContent.session_id, session)
  const last = await call(client, 'ask_parley', { session_id: session })
  assert.equal(text(last), 'two')
  ok('ask, progress and continue')

  const once = { message: 'once', model: 'sim/echo', idempotency_key: `once-${version}-${program ?? ''}` }
  const [a, b] = [await call(client, 'ask_parley', once), await call(client, 'ask_parley', once)]
  assert.equal(a.structuredContent.turn_id, b.structuredContent.turn_id)
  assert.equal(text(b), 'once')
  ok('the same call again')

  const read = (await call(client, 'read_session', { session_id: session })).structuredContent
  assert.deepEqual(read.messages.map((m) => m.role), ['user', 'assistant', 'user', 'assistant'])
  const page = (await call(client, 'read_session', { session_id: session, limit: 1, newest_first: true })).structuredContent
  assert.equal(page.messages.length, 1)
  assert(page.next)
  const listed = (await call(client, 'list_sessions', { agent: 'parley' })).structuredContent
  assert(listed.data.some((s) => s.session_id === session))
  const found = await call(client, 'search', { query: 'one' })
  assert(Array.isArray(found.structuredContent.data))
  ok('search, list and read')

  const made = await fetch(`${url}/v1/artifacts`, {
    method: 'POST', headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'notes', kind: 'markdown', content: '# Notes' }),
  })
  assert.equal(made.status, 201)
  const document = `parley://documents/${(await made.json()).id}`
  const uris = []
  for (let cursor; ;) {
    const some = await client.listResources(cursor ? { cursor } : {})
    uris.push(...some.resources.map((r) => r.uri))
    if (!(cursor = some.nextCursor)) break
  }
  assert(uris.includes(`parley://sessions/${session}`) && uris.includes(document))
  const notes = (await client.readResource({ uri: document })).contents[0]
  assert.deepEqual([notes.text, notes.mimeType], ['# Notes', 'text/markdown'])
  assert.equal((await client.readResource({ uri: `${document}?version=1` })).contents[0].text, '# Notes')
  const talk = JSON.parse((await client.readResource({ uri: `parley://sessions/${session}` })).contents[0].text)
  assert.equal(talk.messages.length, 4)
  assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 2)
  await assert.rejects(client.readResource({ uri: 'parley://sessions/0190b4a2-0000-7000-8000-000000000000' }))
  ok('resources')

  const failed = await call(client, 'ask_parley', { model: 'sim/script',
    message: script([{ text: 'Half' }, { error: { class: 'content_filter', retryable: false } }]) })
  assert(failed.isError && failed.structuredContent.status === 'failed' && text(failed).length > 10)
  const nowhere = await call(client, 'ask_parley', { message: 'hello', model: 'no/such' })
  assert(nowhere.isError && text(nowhere).includes('model'))
  const unknown = await call(client, 'search', { question: 'one' })
  assert(unknown.isError && text(unknown).includes('question'))
  await assert.rejects(call(client, 'ask_nobody_at_all', { message: 'hello' }).then((r) => { if (r.isError) throw Error() }))
  ok('errors')

  const slug = `asks-${version}${program ? '-stdio' : ''}`
  const agent = await fetch(`${url}/v1/agents`, {
    method: 'POST', headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ slug, name: 'Asks', tools: ['current_time', 'ask_user'],
      grants: [{ tool: 'current_time', effect: 'ask' }] }),
  })
  assert.equal(agent.status, 201)
  const waiting = await call(client, `ask_${slug}`, { message: 'What time is it?', model: 'sim/tool' })
  assert.equal(waiting.structuredContent.status, 'waiting')
  assert(text(waiting).includes('current_time') && text(waiting).includes(waiting.structuredContent.session_id))
  ok('an approval without elicitation')

  const asked = []
  let reply
  const forms = await connected(async ({ params }) => { asked.push(params); return reply(params) })
  for (const decision of ['approve', 'deny']) {
    reply = () => ({ action: 'accept', content: { decision } })
    const done = await call(forms, `ask_${slug}`, { message: 'What time is it?', model: 'sim/tool' })
    assert.equal(done.structuredContent.status, 'completed')
    const { messages } = (await call(forms, 'read_session', { session_id: done.structuredContent.session_id })).structuredContent
    assert.equal(messages.find((m) => m.role === 'tool_result').content.success, decision === 'approve')
  }
  assert.equal(asked.length, 2)
  reply = () => ({ action: 'cancel' })
  const left = await call(forms, `ask_${slug}`, { message: 'What time is it?', model: 'sim/tool' })
  assert.equal(left.structuredContent.waits_for, 'approval')
  reply = () => ({ action: 'accept', content: { decision: 'approve' } })
  const taken = await call(forms, `ask_${slug}`, { session_id: left.structuredContent.session_id })
  assert.equal(taken.structuredContent.status, 'completed')
  ok('approvals by elicitation')

  reply = (params) => ({ action: 'accept', content: { answer: params.message === 'Which city?' ? 'Oslo' : '' } })
  const city = await call(forms, `ask_${slug}`, { model: 'sim/script', message: script(
    [{ tool_call: { name: 'ask_user', arguments: { question: 'Which city?', options: ['Oslo', 'Rome'] } } }],
    [{ text: 'Thanks.' }]) })
  assert.equal(text(city), 'Thanks.')
  const said = (await call(forms, 'read_session', { session_id: city.structuredContent.session_id })).structuredContent
  assert(JSON.stringify(said.messages.find((m) => m.role === 'tool_result').content).includes('"Oslo"'))
  ok('questions by elicitation')

  const stop = new AbortController()
  let long
  const cut = call(client, 'ask_parley', { message: 'Tell me more.', model: 'sim/lorem-2000-2' }, {
    signal: stop.signal,
    onprogress: (p) => { long ??= p.message.match(/session (\S+),/)?.[1]; stop.abort() },
  })
  await assert.rejects(cut)
  const running = (await call(client, 'list_sessions', {})).structuredContent.data.find((s) => s.session_id === long)
  assert.equal(running.status, 'running')
  await call(client, 'cancel_turn', { session_id: long })
  const cancelled = await call(client, 'ask_parley', { session_id: long })
  assert(cancelled.isError && cancelled.structuredContent.status === 'cancelled')
  ok('a cancelled request, and a cancelled turn')

  call(client, 'ask_parley', { message: 'Go on without me.', model: 'sim/lorem-300-5' }, {
    onprogress: (p) => {
      writeFileSync(state, p.message.match(/session (\S+),/)?.[1] ?? readFileSync(state, 'utf8'))
      if (p.message.startsWith('step')) process.exit(0)
    },
  }).catch(() => {})
}

async function reload() {
  const client = await connected()
  const done = await call(client, 'ask_parley', { session_id: readFileSync(state, 'utf8') })
  assert.equal(done.structuredContent.status, 'completed')
  assert(text(done).length > 300)
  ok('an answer survives a kill')
  await client.close()
}

await (phase === 'reload' ? reload : ask)()
