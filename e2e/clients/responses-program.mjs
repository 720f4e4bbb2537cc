import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: process.env.PARLEY_OPENAI ?? 'http://127.0.0.1:7878/openai/v1',
  apiKey: process.env.PARLEY_KEY ?? 'none', // without keys the server admits its own user
})

const conversation = await client.conversations.create({ metadata: { topic: 'names' } })
for (const input of ['My name is Ada.', 'What is my name?']) {
  const stream = client.responses.stream({
    model: process.env.MODEL ?? 'parley', conversation: conversation.id, input,
  })
  stream.on('response.output_text.delta', ({ delta }) => process.stdout.write(delta))
  await stream.finalResponse()
  console.log()
}
