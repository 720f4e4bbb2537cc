// Checks of the package openai against a server: it prints "ok NAME" for each check that passed, and fails at the first that
// did not. The phase "reload" runs after the server was killed, with what "ask" has left in the file STATE.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import OpenAI from 'openai'

const { CHECKED_URL: url, CHECKED_KEY: apiKey, PHASE: phase, STATE: state } = process.env
const client = new OpenAI({ baseURL: `${url}/openai/v1`, apiKey, maxRetries: 0 })
const ok = (name) => console.log('ok', name)
const chat = (body, options) => client.chat.completions.create(body, options).withResponse()
const session = (answer) => answer.response.headers.get('x-parley-session')
const script = (...steps) => JSON.stringify(steps)
const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } }]
const call = [{ tool_call: { name: 'weather', arguments: { city: 'Oslo' } } }]

async function ask() {
  const ids = (await client.models.list()).data.map((m) => m.id)
  assert(ids.includes('parley') && ids.includes('sim/echo'))
  assert.equal((await client.models.retrieve('sim/echo')).owned_by, 'sim')
  ok('models')

  const messages = [{ role: 'developer', content: 'Be {{brief}}.' }, { role: 'user', content: 'one' }]
  const first = await chat({ model: 'sim/echo', messages })
  assert.equal(first.data.choices[0].message.content, 'one')
  assert.equal(first.data.choices[0].finish_reason, 'stop')
  assert(first.data.usage.total_tokens > 0)
  ok('ask')

  messages.push(first.data.choices[0].message, { role: 'user', content: 'two' })
  const second = await chat({ model: 'sim/echo', messages })
  assert.equal(session(second), session(first))
  ok('continue')

  messages.push(second.data.choices[0].message, { role: 'user', content: 'three' })
  const stream = client.chat.completions.stream({
    model: 'sim/echo', messages, stream_options: { include_usage: true },
  })
  const whole = await stream.finalChatCompletion()
  assert.equal(whole.choices[0].message.content, 'three')
  assert(whole.usage.completion_tokens > 0)
  messages.push(whole.choices[0].message)
  ok('stream')

  const asked = [{ role: 'user', content: script([{ text: 'Let me look.' }, ...call], [{ text: 'Cold.' }]) }]
  const calls = await client.chat.completions.stream({ model: 'sim/script', messages: asked, tools })
    .finalChatCompletion()
  const answer = calls.choices[0].message
  assert.equal(calls.choices[0].finish_reason, 'tool_calls')
  assert.equal(answer.content, 'Let me look.')
  assert.deepEqual(JSON.parse(answer.tool_calls[0].function.arguments), { city: 'Oslo' })
  ok('tool calls in a stream')

  asked.push(answer, { role: 'tool', tool_call_id: answer.tool_calls[0].id, content: '-3' })
  const cold = await chat({ model: 'sim/script', messages: asked, tools })
  assert.equal(cold.data.choices[0].message.content, 'Cold.')
  ok('tool results')

  const runner = client.chat.completions.runTools({
    model: 'sim/script', stream: true,
    messages: [{ role: 'user', content: script(call, call, [{ text: 'Done.' }]) }],
    tools: [{ type: 'function', function: {
      name: 'weather', parse: JSON.parse, function: () => '-3', parameters: tools[0].function.parameters,
    } }],
  })
  assert.equal(await runner.finalContent(), 'Done.')
  ok('the runner of tools')

  const object = await client.chat.completions.parse({
    model: 'sim/object', messages: [{ role: 'user', content: 'an object' }],
    response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema: {
      type: 'object', properties: { name: { type: 'string' } }, required: ['name'], additionalProperties: false,
    } } },
  })
  assert.equal(typeof object.choices[0].message.parsed.name, 'string')
  ok('structured output')

  await assert.rejects(chat({ model: 'nobody', messages: asked }), (e) =>
    e instanceof OpenAI.NotFoundError && e.code === 'model_not_found' && e.param === 'model')
  const wrong = new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: 'pk_wrong', maxRetries: 0 })
  await assert.rejects(wrong.models.list(), OpenAI.AuthenticationError)
  ok('errors')

  const fails = script([{ text: 'Now ' }, { error: { class: 'model', message: 'broken' } }])
  const broken = await client.chat.completions.create({
    model: 'sim/script', stream: true, messages: [{ role: 'user', content: fails }],
  })
  await assert.rejects(async () => { for await (const _ of broken); }, (e) => e.error?.code === 'model')
  ok('an error in a stream')

  const long = await client.chat.completions.create({
    model: 'sim/lorem-60-50', stream: true, messages: [{ role: 'user', content: 'tell' }],
  })
  for await (const chunk of long) if (chunk.choices[0]?.delta.content) break
  writeFileSync(state, JSON.stringify({ messages, session: session(first) }))
}

async function reload() {
  const known = JSON.parse(readFileSync(state))
  const next = await chat({ model: 'sim/echo', messages: [...known.messages, { role: 'user', content: 'four' }] })
  assert.equal(next.data.choices[0].message.content, 'four')
  assert.equal(session(next), known.session)
  ok('the history after a kill')

  const other = await chat({ model: 'sim/echo', messages: [...known.messages, { role: 'user', content: 'fork' }] })
  assert.equal(other.data.choices[0].message.content, 'fork')
  assert.notEqual(session(other), known.session)
  ok('a fork after a kill')
}

await (phase === 'ask' ? ask() : reload())
