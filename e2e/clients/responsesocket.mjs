// Checks of Responses over a WebSocket with the package openai: it prints "ok NAME" for each check that passed, and
// fails at the first that did not. The phase "reload" runs after the server was killed.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import OpenAI from 'openai'
import { ResponsesWS } from 'openai/resources/responses/ws'

const { CHECKED_URL: url, CHECKED_KEY: apiKey, PHASE: phase, STATE: state } = process.env
const client = new OpenAI({ baseURL: `${url}/openai/v1`, apiKey, maxRetries: 0 })
const ok = (name) => console.log('ok', name)
const script = (...steps) => JSON.stringify(steps)
const tools = [{ type: 'function', name: 'weather', strict: false, parameters: { type: 'object', properties: {} } }]
const call = { tool_call: { name: 'weather', arguments: { city: 'Oslo' } } }
const ends = ['response.completed', 'response.incomplete', 'response.failed', 'error', 'response.steer.failed']

// open returns a connection with a function that sends a request and returns the events that answer it.
async function open(key = apiKey) {
  const socket = new ResponsesWS(new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: key }))
  const heard = []
  let wake = () => {}
  socket.on('event', (event) => { heard.push(event); wake() })
  socket.on('error', () => {}) // an error event is heard, too
  const next = async () => {
    while (!heard.length) await new Promise((resolve) => { wake = resolve })
    return heard.shift()
  }
  const until = async (...types) => {
    for (const events = []; ;) {
      events.push(await next())
      if (types.includes(events.at(-1).type)) return events
    }
  }
  const send = (message) => {
    socket.send(message)
    return until(...ends)
  }
  const create = async (body) => (await send({ type: 'response.create', model: 'sim/echo', ...body })).at(-1)
  return { socket, send, create, until, close: () => socket.close() }
}

// gone reports whether the server has no such response.
const gone = async (id) => (await fetch(`${url}/openai/v1/responses/${id}`, {
  headers: { authorization: `Bearer ${apiKey}` },
})).status === 404

async function ask() {
  const one = await open()
  const text = 'Ein langer Satz mit Umlauten – äöü – und mehr als einem Stück.'
  const events = await one.send({ type: 'response.create', model: 'sim/echo', input: text })
  events.forEach((event, i) => assert.equal(event.sequence_number, i))
  assert.deepEqual(events.filter((e) => e.type !== 'response.output_text.delta').map((e) => e.type), [
    'response.created', 'response.in_progress', 'response.output_item.added', 'response.content_part.added',
    'response.output_text.done', 'response.content_part.done', 'response.output_item.done', 'response.completed',
  ])
  assert.equal(events.map((e) => e.type === 'response.output_text.delta' ? e.delta : '').join(''), text)
  const first = events.at(-1).response
  ok('stream')

  const second = await one.create({ input: 'two', previous_response_id: first.id })
  assert.equal(second.response.previous_response_id, first.id)
  const asked = await one.create({ model: 'sim/script', tools, input: script([call], [{ text: 'Cold.' }]) })
  const [{ call_id }] = asked.response.output
  const output = [{ type: 'function_call_output', call_id, output: '-3' }]
  const cold = await one.create({ model: 'sim/script', tools, previous_response_id: asked.response.id, input: output })
  assert.equal(cold.response.output[0].content[0].text, 'Cold.')
  ok('continue and call tools')

  const unstored = async (socket) => (await socket.create({ input: 'secret', store: false })).response
  const secret = await unstored(one)
  const next = await one.create({ input: 'next', store: false, previous_response_id: secret.id })
  assert.equal(next.response.output[0].content[0].text, 'next')
  const evicted = await one.create({ input: 'x', store: false, previous_response_id: secret.id })
  assert.equal(evicted.error.code, 'previous_response_not_found')
  const calls = await one.create({ model: 'sim/script', tools, store: false, input: script([call], [{ text: 'Still.' }]) })
  const answered = await one.create({ model: 'sim/script', tools, store: false, previous_response_id: calls.response.id,
    input: [{ ...output[0], call_id: calls.response.output[0].call_id }] })
  assert.equal(answered.response.output[0].content[0].text, 'Still.')
  ok('continue what is not stored')

  const kept = await unstored(one)
  const other = await open()
  const missing = await other.create({ input: 'x', store: false, previous_response_id: kept.id })
  assert.equal(missing.error.code, 'previous_response_not_found')
  assert.equal(missing.status, 404)
  await assert.rejects(client.responses.create({ model: 'sim/echo', input: 'x', previous_response_id: kept.id }),
    OpenAI.NotFoundError)
  const stored = await one.create({ input: 'stored', previous_response_id: kept.id })
  assert.equal((await client.responses.retrieve(stored.response.id)).output_text, 'stored')
  const again = await unstored(one)
  const failed = await one.create({ input: 'x', unheard_of: 1, previous_response_id: again.id })
  assert.equal(failed.error.param, 'unheard_of')
  assert.equal((await one.create({ input: 'x', previous_response_id: again.id })).error.code, 'previous_response_not_found')
  const last = await unstored(one)
  one.close()
  while (!(await gone(last.id)));
  ok('what is not stored stays on its connection')

  assert.equal((await other.create({ model: 'nobody', input: 'x' })).error.code, 'model_not_found')
  assert.equal((await other.send({ type: 'other' }))[0].error.param, 'type')
  const fails = script([{ text: 'Now ' }, { error: { class: 'model', message: 'broken' } }])
  assert.equal((await other.create({ model: 'sim/script', input: fails })).type, 'response.failed')
  assert.equal((await other.create({ input: 'fine' })).response.status, 'completed')
  const wrong = new ResponsesWS(new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: 'pk_wrong' }))
  await new Promise((resolve) => { wrong.on('error', resolve); wrong.on('close', resolve) })
  ok('errors')

  const long = 'word '.repeat(40000)
  assert.equal((await other.create({ input: long })).response.output[0].content[0].text, long)
  ok('long messages')

  await prepare(other)
  await reference(other)
  await steer(other)

  other.socket.send({ type: 'response.create', model: 'sim/lorem-60-50', input: 'tell' })
  const { response } = await new Promise((resolve) => { other.socket.on('response.created', resolve) })
  other.close() // its client goes away
  writeFileSync(state, JSON.stringify(response.id))
}

// prepare records input without an answer.
async function prepare(socket) {
  const ready = async (body) => {
    const events = await socket.send({ type: 'response.create', model: 'sim/echo', generate: false, ...body })
    assert.deepEqual(events.map((e) => e.type), ['response.created', 'response.in_progress', 'response.completed'])
    assert.deepEqual(events.at(-1).response.output, [])
    return events.at(-1).response
  }
  const empty = await ready({ input: [], tools, instructions: 'Be brief.', metadata: { of: 'warm' } })
  assert.equal(empty.metadata.of, 'warm')
  assert.equal((await client.responses.retrieve(empty.id)).status, 'completed')
  const first = await socket.create({ input: 'first', previous_response_id: empty.id })
  assert.equal(first.response.output[0].content[0].text, 'first')
  const fork = await socket.create({ input: 'fork', previous_response_id: empty.id })
  assert.equal(fork.response.output[0].content[0].text, 'fork')

  const filled = await ready({ input: 'Keep this.', previous_response_id: first.response.id })
  assert.deepEqual((await inputsOf(filled)), ['Keep this.'])
  const last = (await socket.create({ input: 'last', previous_response_id: filled.id })).response
  assert.equal(last.previous_response_id, filled.id)
  assert.deepEqual(await inputsOf(last), ['Keep this.', 'last'])

  const secret = await ready({ input: 'secret', store: false })
  const next = await socket.create({ input: 'more', store: false, previous_response_id: secret.id })
  assert.equal(next.response.status, 'completed')
  while (!(await gone(secret.id))); // it is purged once another one is kept

  const conversation = (await client.conversations.create()).id
  assert.equal((await socket.create({ generate: false, input: 'x', conversation })).error.param, 'generate')
  await assert.rejects(client.responses.create({ model: 'sim/echo', input: 'x', generate: false }),
    OpenAI.BadRequestError)
  await client.responses.delete((await ready({ input: 'gone' })).id)
  ok('prepare without an answer')
}

// inputsOf are the texts of a response's input, the first one first.
async function inputsOf({ id }) {
  const list = await client.responses.inputItems.list(id, { order: 'asc' })
  return list.data.map((item) => item.content[0].text)
}

// reference names items of the record instead of sending them.
async function reference(socket) {
  const { response } = await socket.create({ input: 'The word is cobalt.' })
  const asked = (await client.responses.inputItems.list(response.id)).data[0]
  const items = [asked, response.output[0]].map(({ id }) => ({ type: 'item_reference', id }))
  const last = { role: 'user', content: 'Which word?' }
  const copied = await socket.create({ input: [...items, last] })
  assert.deepEqual(await inputsOf(copied.response), ['The word is cobalt.', 'The word is cobalt.', 'Which word?'])
  const follows = await socket.create({ input: [{ id: items[1].id }, last], previous_response_id: response.id })
  assert.deepEqual(await inputsOf(follows.response), ['Which word?']) // it goes on with the item anyway
  const missing = await socket.create({ input: [{ type: 'item_reference', id: 'msg_none' }, last] })
  assert.equal(missing.status, 404)
  const alone = await socket.create({ input: items })
  assert.equal(alone.error.param, 'input')
  ok('references to items')
}

// steer says something to a response while it runs.
async function steer(socket) {
  const begin = async (body) => {
    socket.socket.send({ type: 'response.create', model: 'sim/script', tools, ...body })
    return (await socket.until('response.created')).at(-1).response.id
  }
  const say = async (previous_response_id, input) => {
    socket.socket.send({ type: 'response.steer', previous_response_id, input })
    return (await socket.until('response.steer.accepted', 'response.steer.failed')).at(-1)
  }
  const refused = async (code, id, input = 'x') => {
    const failed = await say(id, input)
    assert.deepEqual([failed.type, failed.error.code, failed.error.type, failed.sequence_number],
      ['response.steer.failed', code, 'invalid_request_error', 0])
    assert.deepEqual(failed.steer, { previous_response_id: id, input })
  }
  const slow = { wait_ms: 3000 } // the steer comes meanwhile, also on a busy machine
  const ended = async () => (await socket.until('response.completed', 'response.incomplete', 'response.failed')).at(-1)

  const whole = await begin({ input: script([slow, { text: 'One.' }], [{ text: 'Two.' }]), metadata: { of: 'both' } })
  const accepted = await say(whole, [
    { role: 'user', content: 'And' },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'two?' }] },
  ])
  assert.deepEqual([accepted.type, accepted.steer.previous_response_id, accepted.sequence_number],
    ['response.steer.accepted', whole, 0])
  assert.match(accepted.steer.id, /^steer_/)
  const one = (await ended()).response
  assert.deepEqual([one.id, one.status, one.output[0].content[0].text], [whole, 'completed', 'One.'])
  const heard = await socket.until('response.completed')
  heard.forEach((event, i) => assert.equal(event.sequence_number, i))
  assert.equal(heard[0].type, 'response.created')
  const two = heard.at(-1).response
  assert.deepEqual([two.previous_response_id, two.output[0].content[0].text, two.metadata.of], [whole, 'Two.', 'both'])
  assert.deepEqual(await inputsOf(two), ['And\n\ntwo?'])
  assert.equal((await client.responses.retrieve(two.id)).output_text, 'Two.')
  assert.equal((await client.responses.retrieve(whole)).output_text, 'One.')
  ok('steer')

  const agent = async (name, more) => assert.equal((await fetch(`${url}/v1/agents`, {
    method: 'POST', headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name, slug: name, model: 'sim/script', tools: ['current_time'], ...more }),
  })).status, 201)
  await agent('clock')
  await agent('careful', { grants: [{ tool: 'current_time', effect: 'ask' }] })
  const timed = script([slow, { tool_call: { name: 'current_time' } }], [{ text: 'Late.' }])
  const cut = await begin({ model: 'clock', tools: [], input: timed, store: false })
  assert.equal((await say(cut, 'Hurry.')).type, 'response.steer.accepted')
  const stopped = (await ended()).response
  assert.deepEqual([stopped.id, stopped.status, stopped.incomplete_details.reason], [cut, 'incomplete', 'steered'])
  const late = (await ended()).response
  assert.equal(late.output[0].content[0].text, 'Late.')
  const after = await socket.create({ store: false, previous_response_id: late.id, input: 'after' })
  assert.equal(after.response.status, 'completed')
  ok('steer between the steps of a response that is not stored')

  const waits = await begin({ input: script([slow, call], [{ text: 'Cold.' }]) })
  const steered = await say(waits, 'In Celsius.')
  assert.equal((await ended()).type, 'response.completed')
  const [pending] = await socket.until('response.steer.pending')
  assert.deepEqual([pending.reason, pending.steer.id, pending.required_input.map((i) => [i.type, i.name])],
    ['waiting_for_required_input', steered.steer.id, [['function_call_output', 'weather']]])
  await refused('response_already_completed', waits)
  const output = [{ type: 'function_call_output', call_id: pending.required_input[0].call_id, output: '-3' }]
  const cold = await socket.create({ model: 'sim/script', tools, previous_response_id: waits, input: output })
  assert.equal(cold.response.output[0].content[0].text, 'Cold.')
  assert.equal(cold.response.previous_response_id, waits)
  const behind = await socket.create({ input: 'behind', previous_response_id: cold.response.id })
  assert.equal(behind.response.output[0].content[0].text, 'behind') // the steer began no other response
  ok('steer a response that calls tools')

  const asks = await begin({ model: 'careful', tools: [], input: timed })
  await say(asks, 'Hurry.')
  const parked = (await socket.until('error')).at(-1)
  assert.deepEqual([parked.status, parked.error.code], [409, 'turn_waiting'])
  assert.equal((await socket.until('response.steer.pending'))[0].reason, 'turn_waiting')
  ok('steer a response that waits for an approval')

  const fails = await begin({ input: script([slow, { error: { class: 'model', message: 'broken' } }]) })
  await say(fails, script([{ text: 'Alone.' }]))
  assert.equal((await ended()).type, 'response.failed')
  const own = (await ended()).response
  assert.deepEqual([own.previous_response_id, own.output[0].content[0].text], [fails, 'Alone.'])
  ok('steer a response that fails')

  const conversation = (await client.conversations.create()).id
  const held = await begin({ conversation, input: script([slow, { text: 'Held.' }]) })
  await refused('steering_not_supported', held)
  await refused('invalid_input', held, [{ role: 'assistant', content: 'x' }])
  await refused('invalid_input', held, [])
  await refused('response_not_found', 'resp_none')
  const elsewhere = await open()
  elsewhere.socket.send({ type: 'response.steer', previous_response_id: held, input: 'x' })
  assert.equal((await elsewhere.until('response.steer.failed'))[0].error.code, 'response_not_found')
  elsewhere.close()
  await ended()
  ok('steers that are refused')
}

async function reload() {
  const id = JSON.parse(readFileSync(state))
  for await (const _ of await client.responses.retrieve(id, { stream: true }));
  assert((await client.responses.retrieve(id)).output_text.length > 100)
  ok('a response goes on without its client, after a kill')
}

await (phase === 'reload' ? reload() : ask())
