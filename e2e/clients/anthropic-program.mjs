import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({
  baseURL: process.env.PARLEY_ANTHROPIC ?? 'http://127.0.0.1:7878/anthropic',
  apiKey: process.env.PARLEY_KEY ?? 'none', // without keys the server admits its own user
})

const messages = []
for (const content of ['My name is Ada.', 'What is my name?']) {
  messages.push({ role: 'user', content })
  const stream = client.messages.stream({ model: process.env.MODEL ?? 'parley', max_tokens: 1000, messages })
  stream.on('text', (delta) => process.stdout.write(delta))
  messages.push({ role: 'assistant', content: (await stream.finalMessage()).content })
  console.log()
}
