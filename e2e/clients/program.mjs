import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: process.env.PARLEY_OPENAI ?? 'http://127.0.0.1:7878/openai/v1',
  apiKey: process.env.PARLEY_KEY ?? 'none', // without keys the server admits its own user
})

const messages = []
for (const text of ['My name is Ada.', 'What is my name?']) {
  messages.push({ role: 'user', content: text })
  const stream = client.chat.completions.stream({ model: process.env.MODEL ?? 'parley', messages })
  stream.on('content', (delta) => process.stdout.write(delta))
  messages.push((await stream.finalChatCompletion()).choices[0].message)
  console.log()
}
