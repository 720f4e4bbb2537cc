import { spawn } from 'node:child_process'
import { Readable, Writable } from 'node:stream'
import { client, ndJsonStream, PROTOCOL_VERSION } from '@agentclientprotocol/sdk'

const [command, ...args] = (process.env.PARLEY_ACP ?? 'parley acp').split(' ')
const parley = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] }) // PARLEY_URL and PARLEY_KEY say where

const editor = client({ name: 'example' })
  .onNotification('session/update', ({ params: { update } }) => {
    if (update.sessionUpdate === 'agent_message_chunk') process.stdout.write(update.content.text)
    if (update.sessionUpdate === 'tool_call') console.log(`(${update.title})`)
  })
  .onRequest('session/request_permission', ({ params }) => { // approvals
    console.log(params.toolCall.title)
    return { outcome: { outcome: 'selected', optionId: params.options.find((o) => o.kind === 'reject_once').optionId } }
  })

const stream = ndJsonStream(Writable.toWeb(parley.stdin), Readable.toWeb(parley.stdout))
await editor.connectWith(stream, async (agent) => {
  await agent.request('initialize', { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} })
  const { sessionId } = await agent.request('session/new', { cwd: process.cwd(), mcpServers: [] })
  for (const text of ['My name is Ada.', 'What is my name?']) {
    const { stopReason } = await agent.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] })
    console.log(`\n(${stopReason})`)
  }
})
parley.stdin.end()
