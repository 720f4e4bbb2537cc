// Checks of the package @anthropic-ai/sdk against a server: it prints "ok NAME" for each check that passed, and fails at
// the first that did not. The phase "reload" runs after the server was killed, with what "ask" has left in the file
// STATE.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import Anthropic from '@anthropic-ai/sdk'

const { CHECKED_URL: url, CHECKED_KEY: apiKey, PHASE: phase, STATE: state } = process.env
const client = new Anthropic({ baseURL: `${url}/anthropic`, apiKey, maxRetries: 0 })
const ok = (name) => console.log('ok', name)
const user = (content) => ({ role: 'user', content })
const again = (m) => ({ role: 'assistant', content: m.content })
const ask = (body) => client.messages.create({ max_tokens: 1000, ...body }).withResponse()
const session = (answer) => answer.response.headers.get('x-parley-session')
const text = (m) => m.content.filter((b) => b.type === 'text').map((b) => b.text).join('|')
const script = (...steps) => JSON.stringify(steps)
const tools = [{ name: 'weather', description: 'Looks', input_schema: { type: 'object', properties: {} } }]
const call = (city) => ({ tool_call: { name: 'weather', arguments: { city } } })
const api = async (method, path, body) => {
  const answer = await fetch(`${url}/v1/${path}`, {
    method, headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
    body: body && JSON.stringify(body),
  })
  assert(answer.ok, `${method} ${path}: ${answer.status}`)
  return answer.json()
}


// The last answer of a session, once it rests.
async function answered(id) {
  const until = Date.now() + 50_000
  while ((await api('GET', `sessions/${id}`)).status !== 'completed') {
    assert(Date.now() < until, `session ${id} does not come to rest`)
    await new Promise((r) => setTimeout(r, 20))
  }
  const { data } = await api('GET', `sessions/${id}/messages`)
  return data.filter((m) => m.role === 'assistant' && m.status === 'completed').at(-1)
}

async function first() {
  const ids = []
  for await (const m of client.models.list({ limit: 2 })) ids.push(m.id)
  assert(ids.includes('parley') && ids.includes('sim/echo'))
  assert.equal(new Set(ids).size, ids.length)
  assert.equal((await client.models.retrieve('sim/echo')).type, 'model')
  assert.equal((await client.models.retrieve('parley')).id, 'parley')
  ok('models')

  const counted = await client.messages.countTokens({ model: 'sim/echo', messages: [user('one two three four')] })
  const more = await client.messages.countTokens({
    model: 'sim/echo', messages: [user('one two three four')], system: 'Be brief.', tools,
  })
  assert(counted.input_tokens > 0 && more.input_tokens > counted.input_tokens)
  ok('count tokens')

  const messages = [user('one')]
  const one = await ask({ model: 'sim/echo', messages, system: 'Be {{brief}}.', metadata: { user_id: 'ann' } })
  assert.equal(one.data.content[0].text, 'one')
  assert.equal(one.data.stop_reason, 'end_turn')
  assert(one.data.usage.input_tokens > 0 && one.data.usage.output_tokens > 0)
  ok('ask')

  messages.push(again(one.data), user('two'))
  const two = await ask({ model: 'sim/echo', messages, metadata: { user_id: 'ann' } })
  assert.equal(text(two.data), 'two')
  assert.equal(session(two), session(one))
  const others = await ask({ model: 'sim/echo', messages, metadata: { user_id: 'bob' } })
  assert.notEqual(session(others), session(one))
  ok('continue')

  const fork = await ask({ model: 'sim/echo', messages: [...messages.slice(0, 2), user('other')],
    metadata: { user_id: 'ann' } })
  assert.notEqual(session(fork), session(one))
  assert.equal((await api('GET', `sessions/${session(fork)}`)).parent_session_id, session(one))
  ok('fork')

  messages.push(again(two.data), user('three'))
  const seen = []
  const stream = client.messages.stream({ model: 'sim/echo', max_tokens: 99, messages, metadata: { user_id: 'ann' } })
  stream.on('streamEvent', (e) => seen.push(e.type))
  const whole = await stream.finalMessage()
  assert.equal(text(whole), 'three')
  assert(whole.usage.output_tokens > 0 && whole.usage.input_tokens > 0)
  assert.deepEqual(seen, [...new Set(seen)])
  assert.equal(seen.join(' '), 'message_start content_block_start content_block_delta content_block_stop ' +
    'message_delta message_stop')
  messages.push(again(whole))
  ok('stream')

  const thought = [user('think')]
  const thinking = { type: 'enabled', budget_tokens: 1024 }
  const deep = await client.messages.stream({ model: 'sim/reason', max_tokens: 2000, messages: thought, thinking })
    .finalMessage()
  assert.deepEqual(deep.content.slice(0, 2).map((b) => b.type), ['thinking', 'text'])
  assert(text(deep).startsWith('Simulated answer'))
  assert(deep.content[0].thinking.startsWith('Simulated reasoning') && deep.content[0].signature.length > 9)
  thought.push(again(deep), user('more'))
  const deeper = await ask({ model: 'sim/reason', messages: thought, thinking })
  assert.deepEqual(deeper.data.content.map((b) => b.type), ['thinking', 'text'])
  assert.notEqual(deeper.data.content[0].signature, deep.content[0].signature)
  const kept = (await api('GET', `sessions/${session(deeper)}/messages`)).data
  assert.equal(kept.length, 4) // the thoughts that came back are the record's, not a second copy
  ok('thinking')

  const asked = [user(script([{ text: 'Let me look.' }, call('Oslo'), call('Rome')], [{ text: 'Cold and warm.' }]))]
  const calls = await client.messages.stream({
    model: 'sim/script', max_tokens: 99, messages: asked, tools, tool_choice: { type: 'auto' },
  }).finalMessage()
  assert.equal(calls.stop_reason, 'tool_use')
  assert.deepEqual(calls.content.map((b) => b.input?.city ?? b.text), ['Let me look.', 'Oslo', 'Rome'])
  ok('tool calls in a stream')

  asked.push(again(calls))
  const [, oslo, rome] = calls.content
  const half = await ask({ model: 'sim/script', tools, messages: [...asked,
    user([{ type: 'tool_result', tool_use_id: oslo.id, content: '-3' }])] })
  assert.deepEqual(half.data.content.map((b) => b.id), [rome.id])
  const end = await ask({ model: 'sim/script', tools, messages: [...asked,
    user([{ type: 'tool_result', tool_use_id: oslo.id, content: '-3' }]), again(half.data),
    user([{ type: 'tool_result', tool_use_id: rome.id, is_error: true, content: [{ type: 'text', text: 'no sun' }] }])] })
  assert.equal(text(end.data), 'Cold and warm.')
  assert.equal(session(end), session(half))
  ok('tool results')

  const ran = []
  const runner = client.beta.messages.toolRunner({
    model: 'sim/script', max_tokens: 99, messages: [user(script([call('Oslo')], [call('Rome')], [{ text: 'Done.' }]))],
    tools: [{ type: 'custom', name: 'weather', description: 'Looks', input_schema: tools[0].input_schema,
      parse: (input) => input, run: (input) => (ran.push(input.city), '-3') }],
  })
  assert.equal(text(await runner), 'Done.')
  assert.deepEqual(ran, ['Oslo', 'Rome'])
  ok('the runner of tools')

  const thread = client.beta.messages.thread({ model: 'sim/echo', max_tokens: 99, system: 'Be brief.' })
  const opened = await thread.send(user('one')).withResponse()
  const went = await thread.stream(user('two')).finalMessage()
  const third = await thread.send(user('three')).withResponse()
  assert.deepEqual([text(opened.data), text(went), text(third.data)], ['one', 'two', 'three'])
  assert.equal(session(third), session(opened))
  const looks = client.beta.messages.thread({ model: 'sim/script', max_tokens: 99, tools })
  await looks.send(user(script([{ text: 'Hello.' }])))
  const looked = await looks.send(user(script([call('Oslo')], [{ text: 'Cold.' }]))) // the thread has its tools
  assert.equal(looked.stop_reason, 'tool_use')
  const cold = await looks.send(user([{ type: 'tool_result', tool_use_id: looked.content[0].id, content: '-3' }]))
  assert.equal(text(cold), 'Cold.')
  const older = await client.beta.messages.create({ model: 'sim/echo', max_tokens: 99, messages: [user('other')],
    thread: { type: 'continue', previous_message_id: opened.data.id } }).withResponse()
  assert.equal((await api('GET', `sessions/${session(older)}`)).parent_session_id, session(opened))
  await assert.rejects(client.beta.messages.create({ model: 'sim/echo', max_tokens: 99, messages: [user('x')],
    thread: { type: 'continue', previous_message_id: 'msg_0190b4a2-0000-7000-8000-000000000000' } }),
  (e) => e.errorCode === 'thread_not_found')
  ok('threads')

  const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
  const image = await ask({ model: 'sim/echo', stop_sequences: ['END'], messages: [user([
    { type: 'text', text: 'what is this?' },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
  ])] })
  const [shown] = (await api('GET', `sessions/${session(image)}/messages`)).data
  assert.deepEqual(shown.content.parts.map((p) => p.type), ['text', 'image'])
  ok('images')

  const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'],
    additionalProperties: false }
  const object = await client.messages.parse({ model: 'sim/object', max_tokens: 99, messages: [user('an object')],
    output_config: { format: { type: 'json_schema', schema } } })
  assert.equal(typeof JSON.parse(text(object)).name, 'string')
  ok('structured output')

  await assert.rejects(ask({ model: 'nobody', messages }), (e) =>
    e instanceof Anthropic.NotFoundError && e.type === 'not_found_error' && e.error.request_id.length > 9)
  await assert.rejects(ask({ model: 'sim/echo', messages: [user('x')], top_k: 5 }), (e) =>
    e instanceof Anthropic.BadRequestError && e.type === 'invalid_request_error' && /top_k/.test(e.message))
  const wrong = new Anthropic({ baseURL: `${url}/anthropic`, apiKey: 'pk_wrong', maxRetries: 0 })
  await assert.rejects(wrong.models.list(), (e) =>
    e instanceof Anthropic.AuthenticationError && e.type === 'authentication_error')
  ok('errors')

  const fails = user(script([{ text: 'Now ' }, { error: { class: 'model', message: 'broken' } }]))
  const broken = await client.messages.create({ model: 'sim/script', max_tokens: 9, stream: true, messages: [fails] })
  await assert.rejects(async () => { for await (const _ of broken); }, (e) => e.error?.error?.type === 'api_error')
  ok('an error in a stream')

  await approvals()
  await cancels()

  const long = await client.messages.create({
    model: 'sim/lorem-60-50', max_tokens: 99, stream: true, messages: [user('tell')],
  }).withResponse()
  let heard = ''
  for await (const e of long.data) if ((heard += e.delta?.text ?? '')) break
  writeFileSync(state, JSON.stringify({ messages, session: session(one), cut: session(long) }))
}

async function approvals() {
  await api('POST', 'agents', { slug: 'careful', name: 'Careful', model: 'sim/script', tools: ['current_time'],
    grants: [{ tool: 'current_time', effect: 'ask' }] })
  const asked = [user(script([{ tool_call: { name: 'current_time', arguments: {} } }], [{ text: 'It is late.' }]))]
  let waits
  await assert.rejects(ask({ model: 'careful', messages: asked }), (e) => {
    waits = e
    return e instanceof Anthropic.ConflictError && e.errorCode === 'turn_waiting'
  })
  const inside = waits.headers.get('x-parley-session')
  const [approval] = (await api('GET', `sessions/${inside}/approvals`)).data
  await api('POST', `approvals/${approval.id}`, { decision: 'approve' })
  const row = await answered(inside)
  assert.equal(row.content.text, 'It is late.')
  const on = await ask({ model: 'careful', messages: [...asked, { role: 'assistant', content: row.content.text },
    user(script([{ text: 'Good night.' }]))] })
  assert.equal(session(on), inside)
  ok('an approval')
}

async function cancels() {
  const aborted = await client.messages.create({
    model: 'sim/lorem-40-40', max_tokens: 99, stream: true, messages: [user('long')],
  }).withResponse()
  for await (const e of aborted.data) if (e.type === 'content_block_delta') break // leaves: the turn goes on
  const inside = session(aborted)
  assert.equal((await api('GET', `sessions/${inside}`)).status, 'running')
  await api('POST', `sessions/${inside}/cancel`, {})
  const waiting = client.messages.create({ model: 'sim/lorem-100-50', max_tokens: 99, stream: true,
    messages: [user('longer')] }).withResponse()
  const { data, response } = await waiting
  await assert.rejects(async () => {
    for await (const e of data) {
      if (e.type === 'content_block_start') await api('POST', `sessions/${response.headers.get('x-parley-session')}/cancel`, {})
    }
  }, (e) => e.error?.error?.type === 'conflict_error')
  ok('a client that leaves, and a cancelled turn')
}

async function reload() {
  const known = JSON.parse(readFileSync(state))
  const next = await ask({ model: 'sim/echo', messages: [...known.messages, user('four')],
    metadata: { user_id: 'ann' } })
  assert.equal(text(next.data), 'four')
  assert.equal(session(next), known.session)
  ok('the history after a kill')

  const row = await answered(known.cut)
  const on = await ask({ model: 'sim/lorem-60-50', messages: [user('tell'),
    { role: 'assistant', content: row.content.text }, user('on')] })
  assert.equal(session(on), known.cut)
  ok('an answer survives a kill')
}

await (phase === 'ask' ? first() : reload())
