// The facts that the Open Responses suite of 2026-04-24 checks, in words of our own: 17 checks, seven of them over a
// WebSocket, without any client's package between. Each response and each event is held against the shapes of that
// specification. It prints "ok NAME" for each check that passed, and fails at the first that did not, or if one is
// missing.
import assert from 'node:assert/strict'
import WebSocket from 'ws'
import * as z from 'zod'

const { CHECKED_URL: url, CHECKED_KEY: apiKey } = process.env
const headers = { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` }
const base = `${url}/openai/v1`
const script = (...steps) => JSON.stringify(steps)

// The shapes. What is not optional must be there, also if it is null.
const text = z.string()
const count = z.int().nonnegative()
const list = (of) => z.array(of)
const state = z.enum(['in_progress', 'completed', 'incomplete'])
const choice = z.enum(['none', 'auto', 'required'])
const functionChoice = z.strictObject({ type: z.literal('function'), name: text.optional() })
const logprob = z.object({ token: text, logprob: z.number(), bytes: list(count), top_logprobs: list(z.object({})) })
const annotation = z.strictObject({
  type: z.literal('url_citation'), url: text, start_index: count, end_index: count, title: text,
})
const part = z.discriminatedUnion('type', [
  ...['input_text', 'text', 'summary_text', 'reasoning_text'].map((type) =>
    z.strictObject({ type: z.literal(type), text })),
  z.strictObject({
    type: z.literal('output_text'), text, annotations: list(annotation), logprobs: list(logprob).optional(),
  }),
  z.strictObject({ type: z.literal('refusal'), refusal: text }),
  z.object({ type: z.literal('input_image'), image_url: text.nullable(), detail: z.enum(['low', 'high', 'auto']) }),
  z.object({ type: z.literal('input_file'), filename: text.optional(), file_url: text.optional() }),
])
const item = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('message'), id: text.min(1), status: state, content: list(part),
    role: z.enum(['user', 'assistant', 'system', 'developer']),
    phase: z.enum(['commentary', 'final_answer']).optional(),
  }),
  z.strictObject({
    type: z.literal('function_call'), id: text.min(1), call_id: text.min(1), name: text.min(1), arguments: text,
    status: state,
  }),
  z.strictObject({
    type: z.literal('function_call_output'), id: text.min(1), call_id: text.min(1), status: state,
    output: z.union([text, list(part)]),
  }),
  z.object({
    type: z.literal('reasoning'), id: text.min(1), content: list(part).optional(), summary: list(part),
    encrypted_content: text.optional(),
  }),
  z.strictObject({
    type: z.literal('compaction'), id: text.min(1), encrypted_content: text.min(1), created_by: text.optional(),
  }),
])
const usage = z.object({
  input_tokens: count, output_tokens: count, total_tokens: count,
  input_tokens_details: z.object({ cached_tokens: count }),
  output_tokens_details: z.object({ reasoning_tokens: count }),
})
const response = z.object({
  id: text.min(1), object: z.literal('response'), created_at: count, completed_at: count.nullable(),
  status: z.enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
  incomplete_details: z.object({ reason: text }).nullable(), model: text, previous_response_id: text.nullable(),
  instructions: text.nullable(), output: list(item), error: z.object({ code: text, message: text }).nullable(),
  tools: list(z.strictObject({
    type: z.literal('function'), name: text, description: text.nullable(),
    parameters: z.record(text, z.unknown()).nullable(), strict: z.boolean().nullable(),
  })),
  tool_choice: z.union([choice, functionChoice, z.object({
    type: z.literal('allowed_tools'), tools: list(functionChoice), mode: choice,
  })]),
  truncation: z.enum(['auto', 'disabled']), parallel_tool_calls: z.boolean(),
  text: z.object({
    format: z.object({ type: z.enum(['text', 'json_object', 'json_schema']) }),
    verbosity: z.enum(['low', 'medium', 'high']).optional(),
  }),
  top_p: z.number(), presence_penalty: z.number(), frequency_penalty: z.number(), top_logprobs: count,
  temperature: z.number(),
  reasoning: z.object({
    effort: z.enum(['none', 'low', 'medium', 'high', 'xhigh']).nullable(),
    summary: z.enum(['concise', 'detailed', 'auto']).nullable(),
  }).nullable(),
  usage: usage.nullable(), max_output_tokens: count.nullable(), max_tool_calls: count.nullable(), store: z.boolean(),
  background: z.boolean(), service_tier: text, metadata: z.record(text, z.unknown()),
  safety_identifier: text.nullable(), prompt_cache_key: text.nullable(),
})
const compaction = z.object({
  id: text.min(1), object: z.literal('response.compaction'), output: list(item), created_at: count, usage,
})

// The events by type: what each has beside its type and number.
const of = { item_id: text.min(1), output_index: count, content_index: count }
const call = { item_id: text.min(1), output_index: count }
const events = {
  ...Object.fromEntries(['created', 'queued', 'in_progress', 'completed', 'failed', 'incomplete'].map((name) =>
    [`response.${name}`, { response }])),
  'response.output_item.added': { output_index: count, item },
  'response.output_item.done': { output_index: count, item },
  'response.content_part.added': { ...of, part },
  'response.content_part.done': { ...of, part },
  'response.output_text.delta': { ...of, delta: text, logprobs: list(logprob).optional() },
  'response.output_text.done': { ...of, text, logprobs: list(logprob).optional() },
  'response.output_text.annotation.added': { ...of, annotation_index: count, annotation },
  'response.refusal.delta': { ...of, delta: text },
  'response.refusal.done': { ...of, refusal: text },
  'response.function_call_arguments.delta': { ...call, delta: text },
  'response.function_call_arguments.done': { ...call, name: text.optional(), arguments: text },
}
for (const [type, members] of Object.entries(events)) {
  events[type] = z.strictObject({ type: z.literal(type), sequence_number: count, ...members })
}
const failure = z.object({ // of a WebSocket
  type: z.literal('error'), status: z.int().min(400).max(599),
  error: z.object({ type: text.optional(), code: text, message: text, param: text.nullable().optional() }),
})

const ends = ['response.completed', 'response.failed', 'response.incomplete']
const texts = (r) => r.output.flatMap((i) => i.content ?? []).map((p) => p.text ?? '').join('')

// heard checks a whole stream: shapes, numbers, order, and that what streamed is what the last event says. It returns
// the response at its end.
function heard(stream) {
  assert(stream.length > 2, 'a stream has events')
  const open = {}
  let said = ''
  stream.forEach((event, i) => {
    assert(events[event.type], `${event.type} is an event of the specification`)
    events[event.type].parse(event)
    assert.equal(event.sequence_number, i)
    assert.equal(ends.includes(event.type), i === stream.length - 1, 'a stream ends once')
    const [, kind, step] = event.type.split('.')
    const at = open[event.output_index]
    if (kind === 'output_item') {
      assert.equal(step === 'added', at === undefined, 'an item is added once')
      if (step === 'added') assert.equal(event.output_index, Object.keys(open).length)
      open[event.output_index] = { item: event.item, parts: at?.parts ?? {}, over: step === 'done' }
      assert.equal(event.item.id, (at ?? open[event.output_index]).item.id)
    } else if (event.item_id) {
      assert(at && !at.over && at.item.id === event.item_id, `${event.type} is within its item`)
      if (kind === 'content_part') at.parts[event.content_index] = step
      else if (event.content_index !== undefined) assert.equal(at.parts[event.content_index], 'added')
      if (event.type === 'response.output_text.delta') said += event.delta
    }
  })
  assert.deepEqual(stream.slice(0, 2).map((e) => e.type), ['response.created', 'response.in_progress'])
  assert(Object.values(open).every((i) => i.over), 'each item ends')
  const last = stream.at(-1).response
  assert.deepEqual(last.output, Object.values(open).map((i) => i.item))
  assert.equal(said, texts(last))
  assert.equal(last.id, stream[0].response.id)
  return last
}

async function post(path, body, status = 200) {
  const answer = await fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) })
  assert.equal(answer.status, status, await answer.clone().text())
  return answer
}

// ask returns the response to a request of one answer, which is complete.
async function ask(body) {
  const answered = response.parse(await (await post('/responses', { model: 'sim/echo', ...body })).json())
  assert.equal(answered.status, 'completed')
  assert(answered.output.length > 0, 'there is output')
  return answered
}

// stream returns the events of a request that streams: each name is its event's type, and [DONE] is last.
async function stream(body) {
  const answer = await post('/responses', { model: 'sim/echo', ...body, stream: true })
  assert.match(answer.headers.get('content-type'), /^text\/event-stream/)
  const frames = (await answer.text()).split('\n\n').map((f) => f.trim()).filter((f) => f && !f.startsWith(':'))
  assert.equal(frames.pop(), 'data: [DONE]')
  return frames.map((frame) => {
    const [, name, data] = /^event: (.+)\ndata: (.+)$/.exec(frame)
    const event = JSON.parse(data)
    assert.equal(name, event.type)
    return event
  })
}

// connect opens a WebSocket. create sends a request, and returns the events that answer it.
async function connect() {
  const socket = new WebSocket(`${base.replace('http', 'ws')}/responses`, { headers })
  const come = []
  let wake = () => {}
  socket.on('message', (data) => { come.push(JSON.parse(data)); wake() })
  await new Promise((resolve, reject) => socket.on('open', resolve).on('error', reject))
  const create = async (body) => {
    socket.send(JSON.stringify({ type: 'response.create', model: 'sim/echo', ...body }))
    for (const stream = []; ;) {
      while (!come.length) await new Promise((resolve) => { wake = resolve })
      stream.push(come.shift())
      if (stream.at(-1).type === 'error' || ends.includes(stream.at(-1).type)) return stream
    }
  }
  const completed = async (body) => {
    const last = heard(await create(body))
    assert.equal(last.status, 'completed')
    return last
  }
  const refused = async (body) => {
    const stream = await create(body)
    assert.equal(stream.length, 1)
    return failure.parse(stream[0]).error
  }
  return { completed, refused, close: () => socket.close() }
}

// within runs a check on a connection of its own.
const within = (check) => async () => {
  const socket = await connect()
  await check(socket)
  socket.close()
}

const says = (role, content, more) => ({ type: 'message', role, content, ...more })
const weather = {
  input: [says('user', script([{ tool_call: { name: 'get_weather', arguments: { location: 'Oslo' } } }]))],
  model: 'sim/script', tools: [{
    type: 'function', name: 'get_weather', description: 'The weather of a place.',
    parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
  }],
}
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
const unstored = { store: false }

const checks = {
  'basic response': async () => assert.equal(texts(await ask({ input: [says('user', 'Three words, please.')] })),
    'Three words, please.'),
  'phases of earlier answers': () => ask({ input: [
    says('assistant', 'I look it up.', { phase: 'commentary' }),
    says('assistant', 'It is four.', { phase: 'final_answer' }), says('user', 'Only the number.'),
  ] }),
  'phases in the output': async () => { // none is said: null is not allowed
    const { output } = await ask({ input: 'Without a phase' })
    assert(output.every((i) => i.type !== 'message' || !('phase' in i)))
    for (const phase of ['commentary', 'final_answer']) item.parse({ ...output[0], phase })
  },
  'stream': async () => assert.equal(texts(heard(await stream({ input: [says('user', 'From one to five')] }))),
    'From one to five'),
  'WebSocket: a response': within((socket) => socket.completed({ input: [says('user', 'From one to three')] })),
  'WebSocket: one after the other': within(async (socket) => {
    const [first, second] = [await socket.completed({ ...unstored, input: 'first' }),
      await socket.completed({ ...unstored, input: 'second' })]
    assert.deepEqual([texts(first), texts(second)], ['first', 'second'])
    assert.notEqual(first.id, second.id)
  }),
  'WebSocket: continue what is not stored': within(async (socket) => {
    const { id } = await socket.completed({ ...unstored, input: 'The word is cobalt.' })
    const next = await socket.completed({ ...unstored, previous_response_id: id, input: 'Which word?' })
    assert.deepEqual([next.previous_response_id, next.store], [id, false])
  }),
  'WebSocket: not stored, not found after a reconnect': async () => {
    const first = await connect()
    const { id } = await first.completed({ ...unstored, input: 'The word is copper.' })
    first.close()
    const second = await connect()
    const again = await second.refused({ ...unstored, previous_response_id: id, input: 'Go on' })
    assert.equal(again.code, 'previous_response_not_found')
    await second.completed({ ...unstored, input: [says('user', 'Start anew.')] })
    second.close()
  },
  'WebSocket: an unknown previous response': within(async (socket) => {
    const unknown = await socket.refused({ ...unstored, previous_response_id: `resp_${Date.now()}`, input: 'Go on' })
    assert.equal(unknown.code, 'previous_response_not_found')
  }),
  'WebSocket: what fails to continue is forgotten': within(async (socket) => {
    const { id } = await socket.completed({ ...unstored, input: 'The word is ember.' })
    const output = [{ type: 'function_call_output', call_id: 'call_nobody', output: 'Nobody asked.' }]
    await socket.refused({ ...unstored, previous_response_id: id, input: output })
    const again = await socket.refused({ ...unstored, previous_response_id: id, input: 'Go on' })
    assert.equal(again.code, 'previous_response_not_found')
  }),
  'WebSocket: a chain that begins with a compaction': within(async (socket) => {
    const compacted = await (await post('/responses/compact', { model: 'sim/echo', input: [
      says('user', [{ type: 'input_text', text: 'The word is slate.' }]),
      says('assistant', [{ type: 'output_text', text: 'Noted.' }]),
      says('user', [{ type: 'input_text', text: 'Keep it short.' }]),
    ] })).json()
    const input = [...compaction.parse(compacted).output, says('user', 'Go on')]
    const next = await socket.completed({ ...unstored, input, tools: [] })
    assert.equal(next.previous_response_id, null)
  }),
  'instructions among the input': () => ask({ input: [says('system', 'Speak as a pirate.'), says('user', 'Hello.')] }),
  'tool call': async () => {
    const answered = await ask(weather)
    assert.deepEqual(answered.output.map((i) => [i.type, i.name]), [['function_call', 'get_weather']])
    const streamed = await stream(weather)
    assert.deepEqual(heard(streamed).output.map((i) => i.type), ['function_call'])
    const types = streamed.map((e) => e.type)
    for (const kind of ['delta', 'done']) assert(types.includes(`response.function_call_arguments.${kind}`))
  },
  'image': () => ask({ input: [says('user', [
    { type: 'input_text', text: 'What is this?' },
    { type: 'input_image', image_url: `data:image/png;base64,${pixel}` },
  ])] }),
  'history': () => ask({ input: [
    says('user', 'My name is Ada.'), says('assistant', 'Hello Ada.'), says('user', 'What is my name?'),
  ] }),
  'compact': async () => {
    const compacted = compaction.parse(await (await post('/responses/compact', {
      model: 'sim/echo', prompt_cache_key: 'compact',
      input: [says('user', 'We launch on Tuesday.'), says('assistant', 'On Tuesday, then.')],
    })).json())
    assert(compacted.output.some((i) => i.type === 'compaction'))
  },
  'compact without a model': async () => {
    const { error } = await (await post('/responses/compact', { input: [says('user', 'Compact this.')] }, 400)).json()
    assert.equal(error.param, 'model')
  },
}

let passed = 0
for (const [name, check] of Object.entries(checks)) {
  await check().catch((error) => { throw new Error(`${name}: ${error.message}`, { cause: error }) })
  console.log('ok', name)
  passed++
}
assert.equal(passed, 17)
