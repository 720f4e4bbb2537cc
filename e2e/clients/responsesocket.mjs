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
  const send = async (message) => {
    socket.send(message)
    for (const events = []; ;) {
      events.push(await next())
      if (ends.includes(events.at(-1).type)) return events
    }
  }
  const create = async (body) => (await send({ type: 'response.create', model: 'sim/echo', ...body })).at(-1)
  return { socket, send, create, close: () => socket.close() }
}

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
  const gone = async () => (await fetch(`${url}/openai/v1/responses/${last.id}`, {
    headers: { authorization: `Bearer ${apiKey}` },
  })).status === 404
  while (!(await gone()));
  ok('what is not stored stays on its connection')

  assert.equal((await other.create({ model: 'nobody', input: 'x' })).error.code, 'model_not_found')
  assert.equal((await other.send({ type: 'other' }))[0].error.param, 'type')
  const steer = await other.send({ type: 'response.steer', response_id: first.id, input: 'x' })
  assert.equal(steer[0].type, 'response.steer.failed')
  const fails = script([{ text: 'Now ' }, { error: { class: 'model', message: 'broken' } }])
  assert.equal((await other.create({ model: 'sim/script', input: fails })).type, 'response.failed')
  assert.equal((await other.create({ input: 'fine' })).response.status, 'completed')
  const wrong = new ResponsesWS(new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: 'pk_wrong' }))
  await new Promise((resolve) => { wrong.on('error', resolve); wrong.on('close', resolve) })
  ok('errors')

  const long = 'word '.repeat(40000)
  assert.equal((await other.create({ input: long })).response.output[0].content[0].text, long)
  ok('long messages')

  other.socket.send({ type: 'response.create', model: 'sim/lorem-60-50', input: 'tell' })
  const { response } = await new Promise((resolve) => { other.socket.on('response.created', resolve) })
  other.close() // its client goes away
  writeFileSync(state, JSON.stringify(response.id))
}

async function reload() {
  const id = JSON.parse(readFileSync(state))
  for await (const _ of await client.responses.retrieve(id, { stream: true }));
  assert((await client.responses.retrieve(id)).output_text.length > 100)
  ok('a response goes on without its client, after a kill')
}

await (phase === 'reload' ? reload() : ask())
