import { DefaultChatTransport, readUIMessageStream } from 'ai5'

const transport = new DefaultChatTransport({
  api: process.env.PARLEY_AI_SDK ?? 'http://127.0.0.1:7878/ai-sdk/parley', // the agent's slug
  headers: { authorization: `Bearer ${process.env.PARLEY_KEY ?? 'none'}` }, // any, on a server without keys
  body: { model: process.env.MODEL }, // of this turn; without it the agent's
})

const chatId = crypto.randomUUID()
const messages = []
for (const text of ['My name is Ada.', 'What is my name?']) {
  messages.push({ id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text }] })
  const stream = await transport.sendMessages({ trigger: 'submit-message', chatId, messages })
  let answer
  for await (answer of readUIMessageStream({ stream })); // each is the answer so far
  messages.push(answer)
  console.log(answer.parts.map((part) => part.text ?? '').join(''))
}
