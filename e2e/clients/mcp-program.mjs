import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

const client = new Client({ name: 'example', version: '1' }, {
  versionNegotiation: { mode: 'auto' }, // 2026-07-28 where the server has it
  capabilities: { elicitation: { form: {} } },
})
client.setRequestHandler('elicitation/create', async ({ params }) => { // approvals and the agent's questions
  console.log(params.message)
  return { action: 'accept', content: { decision: 'deny', answer: 'I do not know.' } }
})
await client.connect(new StreamableHTTPClientTransport(
  new URL(process.env.PARLEY_MCP ?? 'http://127.0.0.1:7878/mcp'),
  { requestInit: { headers: { authorization: `Bearer ${process.env.PARLEY_KEY ?? 'none'}` } } }, // any, without keys
))

let session
for (const message of ['My name is Ada.', 'What is my name?']) {
  const answer = await client.callTool({
    name: 'ask_parley', // the agent's slug follows ask_
    arguments: { message, model: process.env.MODEL, session_id: session }, // without model, the agent's
  }, { onprogress: ({ message }) => console.log(`(${message})`), resetTimeoutOnProgress: true })
  session = answer.structuredContent.session_id // continues the conversation
  console.log(answer.content[0].text)
}
await client.close()
