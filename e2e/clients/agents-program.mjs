import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: process.env.PARLEY_OPENAI ?? 'http://127.0.0.1:7878/openai/v1',
  apiKey: process.env.PARLEY_KEY ?? 'none', // without keys the server admits its own user
})
const { sessions } = client.beta.agents

const session = await sessions.create({
  environment: { type: 'none' },
  agent: {
    model: process.env.MODEL ?? 'parley',
    tools: [{
      type: 'function', name: 'weather', description: 'The weather in a city.',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    }],
  },
})
for (const input of ['How is the weather in Oslo?', 'And in Rome?']) {
  const turn = sessions.stream(session.id, {
    input, toolHandlers: { weather: ({ city }) => `It snows in ${city}.` },
  })
  for await (const event of turn) {
    if (event.type === 'agent.session.turn.output_text.delta') process.stdout.write(event.delta)
  }
  console.log()
}
