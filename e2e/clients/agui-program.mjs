import { HttpAgent } from '@ag-ui/client'

const agent = new HttpAgent({
  url: process.env.PARLEY_AGUI ?? 'http://127.0.0.1:7878/agui/parley', // the agent's slug
  headers: { authorization: `Bearer ${process.env.PARLEY_KEY ?? 'none'}` }, // any, on a server without keys
  threadId: crypto.randomUUID(), // the conversation: keep it, to find it again after a reload
})
const forwardedProps = { parley: { model: process.env.MODEL } } // of this turn; without it the agent's

for (const content of ['My name is Ada.', 'What is my name?']) {
  agent.messages.push({ id: crypto.randomUUID(), role: 'user', content })
  await agent.runAgent({ forwardedProps })
  while (agent.pendingInterrupts.length) { // the agent asks for an approval, or for something else
    const resume = agent.pendingInterrupts.map(({ id, message }) => {
      console.log(message, 'No.')
      return { interruptId: id, status: 'cancelled' } // or 'resolved', with { approved: true } or { answer: '…' }
    })
    await agent.runAgent({ resume })
  }
  console.log(agent.messages.at(-1).content)
}
