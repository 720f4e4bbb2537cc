// Checks of Responses and Conversations of the package openai against a server: it prints "ok NAME" for each check that
// passed, and fails at the first that did not. The phase "reload" runs after the server was killed, with what "ask" has
// left in the file STATE.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import OpenAI from 'openai'

const { CHECKED_URL: url, CHECKED_KEY: apiKey, PHASE: phase, STATE: state } = process.env
const client = new OpenAI({ baseURL: `${url}/openai/v1`, apiKey, maxRetries: 0 })
const ok = (name) => console.log('ok', name)
const { responses, conversations } = client
const create = (body) => responses.create({ model: 'sim/echo', ...body })
const where = async (body) => {
  const { data, response } = await create(body).withResponse()
  return { ...data, session: response.headers.get('x-parley-session') }
}
const script = (...steps) => JSON.stringify(steps)
const tools = [{ type: 'function', name: 'weather', strict: false, parameters: { type: 'object', properties: {} } }]
const call = { tool_call: { name: 'weather', arguments: { city: 'Oslo' } } }
const refused = (promise, kind, code, param) =>
  assert.rejects(promise, (e) => {
    assert(e instanceof kind, `${e}`)
    if (code !== undefined) assert.equal(e.code, code)
    if (param !== undefined) assert.equal(e.param, param)
    return true
  })

// ended reads a response until it is over.
async function ended(id) {
  const stream = await responses.retrieve(id, { stream: true })
  for await (const _ of stream);
  return responses.retrieve(id)
}

// heard reads a stream whole, and checks what holds for every one.
async function heard(stream, first = 0) {
  const events = []
  for await (const event of stream) events.push(event)
  events.forEach((event, i) => assert.equal(event.sequence_number, first + i, `${event.type} is out of order`))
  return events
}

async function ask() {
  const one = await where({ input: 'one', instructions: 'Be {{brief}}.', metadata: { a: 'b' }, temperature: 0.5 })
  assert.equal(one.output_text, 'one')
  assert.equal(one.status, 'completed')
  assert.equal(one.instructions, 'Be {{brief}}.')
  assert.deepEqual(one.metadata, { a: 'b' })
  assert.equal(one.temperature, 0.5)
  assert(one.usage.total_tokens > 0 && one.completed_at >= one.created_at)
  assert.equal(one.error, null)
  ok('create')

  const two = await where({ input: [{ role: 'user', content: 'two' }], previous_response_id: one.id })
  assert.equal(two.output_text, 'two')
  assert.equal(two.previous_response_id, one.id)
  assert.equal(two.instructions, null)
  assert.equal(two.session, one.session)
  ok('continue')

  const fork = await where({ input: 'other', previous_response_id: one.id })
  assert.equal(fork.output_text, 'other')
  assert.notEqual(fork.session, one.session)
  assert.equal((await where({ input: 'on', previous_response_id: fork.id })).session, fork.session)
  ok('fork')

  const { output_text: _, session: __, ...plain } = one
  const { output_text: ___, ...again } = await responses.retrieve(one.id)
  assert.deepEqual(again, plain)
  ok('retrieve')

  const known = [{ role: 'developer', content: 'Be kind.' }, { role: 'user', content: 'before' },
    { role: 'assistant', content: 'known to nobody' },
    { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c1', output: '-3' }, { role: 'user', content: 'now' }]
  const told = await create({ input: known })
  assert.equal(told.output_text, 'now')
  const items = []
  for await (const item of responses.inputItems.list(told.id, { order: 'asc', limit: 2 })) items.push(item)
  assert.deepEqual(items.map((i) => i.type),
    ['message', 'message', 'function_call', 'function_call_output', 'message'])
  assert.equal(items[0].content[0].text, 'before')
  assert.equal((await responses.inputItems.list(told.id)).data[0].content[0].text, 'now')
  assert.deepEqual((await responses.inputItems.list(two.id)).data.map((i) => i.content[0].text), ['two'])
  ok('input items')

  const text = 'Ein langer Satz mit Umlauten – äöü – und mehr als einem Stück, damit er geteilt wird. 日本語もあります。'
  const live = await heard(await create({ input: text, stream: true }))
  assert.deepEqual(live.filter((e) => e.type !== 'response.output_text.delta').map((e) => e.type), [
    'response.created', 'response.in_progress', 'response.output_item.added', 'response.content_part.added',
    'response.output_text.done', 'response.content_part.done', 'response.output_item.done', 'response.completed',
  ])
  const said = (events) => events.filter((e) => e.type === 'response.output_text.delta').map((e) => e.delta).join('')
  assert.equal(said(live), text)
  const last = live.at(-1).response
  assert.deepEqual(Object.keys(live[0].response).sort(), Object.keys(last).sort())
  assert.equal((await responses.stream({ model: 'sim/echo', input: text }).finalResponse()).output_text, text)
  ok('stream')

  const replay = await heard(await responses.retrieve(last.id, { stream: true }))
  assert.deepEqual(replay, live)
  const rest = await heard(await responses.retrieve(last.id, { stream: true, starting_after: 5 }), 6)
  assert.deepEqual(rest, live.slice(6))
  ok('stream again')

  const asked = await create({ model: 'sim/script', tools, input: script([{ text: 'Look.' }, call, call], [{ text: 'Cold.' }]) })
  assert.deepEqual(asked.output.map((i) => i.type), ['message', 'function_call', 'function_call'])
  const calls = asked.output.slice(1)
  assert.deepEqual(JSON.parse(calls[0].arguments), { city: 'Oslo' })
  assert.equal(asked.tools[0].name, 'weather')
  const outputs = calls.map((c) => ({ type: 'function_call_output', call_id: c.call_id, output: '-3' }))
  const next = { model: 'sim/script', tools, previous_response_id: asked.id }
  await refused(create({ ...next, input: outputs.slice(1) }), OpenAI.BadRequestError, undefined, 'input')
  const cold = await create({ ...next, input: outputs })
  assert.equal(cold.output_text, 'Cold.')
  assert.equal(cold.output.length, 1)
  assert.deepEqual((await responses.retrieve(asked.id)).output, asked.output)
  await refused(create({ ...next, input: outputs }), OpenAI.ConflictError)
  ok('tool calls')

  const whole = await responses.stream({ model: 'sim/script', tools, input: script([{ reasoning: 'Hm.' }, { text: 'Look.' }, call], [{ text: 'x' }]) }).finalResponse()
  assert.deepEqual(whole.output.map((i) => i.type), ['reasoning', 'message', 'function_call'])
  assert.equal(whole.output[0].content[0].text, 'Hm.')
  ok('reasoning and tool calls in a stream')

  const object = await responses.parse({
    model: 'sim/object', input: 'an object', text: { format: { type: 'json_schema', name: 'answer', strict: true, schema: {
      type: 'object', properties: { name: { type: 'string' } }, required: ['name'], additionalProperties: false,
    } } },
  })
  assert.equal(typeof object.output_parsed.name, 'string')
  assert.equal(object.text.format.name, 'answer')
  ok('structured output')

  await refused(create({ input: 'x', model: 'nobody' }), OpenAI.NotFoundError, 'model_not_found', 'model')
  await refused(create({ input: 'x', previous_response_id: `resp_${crypto.randomUUID()}` }), OpenAI.NotFoundError,
    'previous_response_not_found', 'previous_response_id')
  await refused(create({ input: 'x', previous_response_id: one.id, conversation: 'conv_1' }), OpenAI.BadRequestError)
  await refused(create({ input: 'x', unheard_of: 1 }), OpenAI.BadRequestError, undefined, 'unheard_of')
  await refused(create({ input: [{ type: 'computer_call' }] }), OpenAI.BadRequestError, undefined, 'input[0].type')
  await refused(responses.retrieve('resp_x'), OpenAI.NotFoundError)
  await refused(new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: 'pk_wrong', maxRetries: 0 }).responses
    .create({ model: 'sim/echo', input: 'x' }), OpenAI.AuthenticationError)
  ok('errors')

  const fails = script([{ text: 'Now ' }, { error: { class: 'model', message: 'broken' } }])
  const broken = await heard(await create({ model: 'sim/script', stream: true, input: fails }))
  assert.equal(broken.at(-1).type, 'response.failed')
  assert.equal(broken.at(-1).response.error.code, 'server_error')
  assert.equal((await responses.retrieve(broken[0].response.id)).status, 'failed')
  assert.equal((await create({ model: 'sim/script', input: fails })).status, 'failed')
  ok('a failed response')

  const endless = await create({ model: 'sim/lorem-4000-50', input: 'tell', background: true })
  assert(['queued', 'in_progress'].includes(endless.status))
  await refused(create({ input: 'x', previous_response_id: endless.id }), OpenAI.ConflictError)
  const stopped = await responses.cancel(endless.id)
  assert.equal(stopped.status, 'cancelled')
  assert.equal((await responses.cancel(endless.id)).status, 'cancelled')
  await refused(responses.cancel(one.id), OpenAI.BadRequestError)
  ok('cancel')

  await responses.delete(last.id)
  await refused(responses.retrieve(last.id), OpenAI.NotFoundError)
  await responses.delete(two.id)
  await refused(responses.retrieve(two.id), OpenAI.NotFoundError)
  assert.equal((await responses.retrieve(one.id)).id, one.id)
  ok('delete')

  const secret = await where({ input: 'secret', store: false })
  assert.equal(secret.output_text, 'secret')
  assert.equal(secret.store, false)
  const aside = await where({ input: 'aside', store: false, previous_response_id: one.id })
  assert.notEqual(aside.session, one.session)
  await refused(create({ input: 'x', background: true, store: false }), OpenAI.BadRequestError, undefined, 'background')
  const gone = async (id) => (await fetch(`${url}/v1/sessions/${id}`, {
    headers: { authorization: `Bearer ${apiKey}` },
  })).status === 404
  for (const id of [secret.session, aside.session]) while (!(await gone(id))); // the answer comes first
  ok('not stored')

  const counted = await responses.inputTokens.count({ model: 'sim/echo', input: 'one two three' })
  assert.equal(counted.object, 'response.input_tokens')
  const more = await responses.inputTokens.count({
    model: 'sim/echo', input: 'four', instructions: 'Be brief. '.repeat(50), previous_response_id: one.id,
  })
  assert(more.input_tokens > counted.input_tokens && counted.input_tokens > 0)
  assert.equal((await create({ input: 'on', previous_response_id: fork.id })).previous_response_id, fork.id)
  await refused(responses.inputTokens.count({ model: 'sim/echo', input: 'x', previous_response_id: 'resp_x' }),
    OpenAI.NotFoundError, 'previous_response_not_found')
  ok('input tokens')

  const talk = [1, 2, 3, 4].flatMap((n) => [{ role: 'user', content: `question ${n}` }, { role: 'assistant', content: `answer ${n}` }])
  const compacted = await responses.compact({ model: 'sim/echo', input: talk })
  assert.equal(compacted.object, 'response.compaction')
  const item = compacted.output.at(-1)
  assert.equal(item.type, 'compaction')
  assert.deepEqual(compacted.output.slice(0, -1).map((i) => i.content[0].text), [1, 2, 3, 4].map((n) => `question ${n}`))
  const after = await where({ input: [...compacted.output, { role: 'user', content: 'and now' }] })
  assert.equal(after.output_text, 'and now')
  const paid = await (await fetch(`${url}/v1/sessions/${after.session}/calls`, { headers: { authorization: `Bearer ${apiKey}` } })).json()
  assert(paid.data.some((c) => c.purpose === 'compaction'))
  const shorter = await responses.compact({ model: 'sim/echo', previous_response_id: after.id })
  const { session } = await where({ input: [shorter.output.at(-1), { role: 'user', content: 'on' }] })
  assert.equal(session, after.session)
  await refused(create({ input: [{ ...item, encrypted_content: 'x' }, { role: 'user', content: 'x' }] }), OpenAI.NotFoundError)
  await refused(create({ input: [item, { role: 'user', content: 'x' }], previous_response_id: one.id }), OpenAI.BadRequestError)
  ok('compact')

  const conversation = await conversations.create({
    metadata: { topic: 'tea' }, items: [{ role: 'user', content: 'hi' }, { role: 'assistant', content: 'hello' }],
  })
  const first = await create({ input: 'one', conversation: conversation.id })
  assert.equal(first.conversation.id, conversation.id)
  assert.equal((await create({ input: 'two', conversation: { id: conversation.id } })).output_text, 'two')
  const texts = []
  for await (const item of conversations.items.list(conversation.id, { order: 'asc', limit: 2 })) {
    texts.push(item.content[0].text)
  }
  assert.deepEqual(texts, ['hi', 'hello', 'one', 'one', 'two', 'two'])
  const newest = (await conversations.items.list(conversation.id, { limit: 1 })).data[0]
  assert.equal(newest.role, 'assistant')
  assert.deepEqual(await conversations.items.retrieve(newest.id, { conversation_id: conversation.id }), newest)
  ok('conversation')

  const added = await conversations.items.create(conversation.id, { items: [{ role: 'user', content: 'more' }] })
  assert.equal(added.data[0].content[0].text, 'more')
  await conversations.items.delete(added.data[0].id, { conversation_id: conversation.id })
  await refused(conversations.items.retrieve(added.data[0].id, { conversation_id: conversation.id }),
    OpenAI.NotFoundError)
  const changed = await conversations.update(conversation.id, { metadata: { topic: 'coffee' } })
  assert.deepEqual((await conversations.retrieve(conversation.id)).metadata, changed.metadata)
  assert.equal((await conversations.delete(conversation.id)).deleted, true)
  await refused(conversations.retrieve(conversation.id), OpenAI.NotFoundError)
  assert.equal((await conversations.create()).object, 'conversation')
  ok('conversations and items')

  const long = await create({ model: 'sim/lorem-60-50', input: 'tell', background: true, stream: true })
  let id
  for await (const event of long) {
    id ??= event.response.id
    if (event.type === 'response.output_text.delta') break
  }
  writeFileSync(state, JSON.stringify({ id, one: one.id }))
}

async function reload() {
  const { id, one } = JSON.parse(readFileSync(state))
  const told = await ended(id)
  assert.equal(told.status, 'completed')
  assert(told.output[0].content[0].text.length > 100)
  ok('a background response after a kill')
  assert.equal((await create({ input: 'on', previous_response_id: id })).output_text, 'on')
  assert.equal((await responses.retrieve(one)).output_text, 'one')
  ok('continue after a kill')
}

await (phase === 'ask' ? ask() : reload())
