import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({
  baseURL: process.env.PARLEY_ANTHROPIC ?? 'http://127.0.0.1:7878/anthropic',
  apiKey: null, authToken: process.env.PARLEY_KEY ?? 'none', // without keys the server admits its own user
})
const { agents, environments, sessions } = client.beta

const weather = { type: 'custom', name: 'weather', description: 'The weather in a city.',
  input_schema: { type: 'object', properties: { city: { type: 'string' } } } }
const model = process.env.MODEL ?? 'openai/gpt-5-mini'
const agent = await agents.create({ name: 'Weather', model, tools: [weather] })
const own = await environments.create({ name: 'laptop', config: { type: 'self_hosted' } })
const session = await sessions.create({ agent: agent.id, environment_id: own.id })

const text = process.env.ASK ?? 'What is the weather in Oslo?'
await sessions.events.send(session.id, { events: [{ type: 'user.message', content: [{ type: 'text', text }] }] })
const run = { ...weather, parse: (input) => input, run: ({ city }) => `-3 degrees in ${city}` }
for await (const call of sessions.events.toolRunner(session.id, { tools: [run], maxIdleMs: 500 })) {
  console.log(call.name, call.posted)
}
for await (const event of sessions.events.list(session.id)) {
  if (event.type === 'agent.message') console.log(event.content[0].text)
}
