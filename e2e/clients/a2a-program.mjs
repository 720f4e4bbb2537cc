import { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver,
  JsonRpcTransportFactory } from '@a2a-js/sdk/client'

const key = process.env.PARLEY_KEY ?? 'none' // any, without keys
const fetchImpl = (url, init) => fetch(url, { ...init, headers: { ...init?.headers, authorization: `Bearer ${key}` } })
const client = await new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
  transports: [new JsonRpcTransportFactory({ fetchImpl })],
  cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
})).createFromUrl(process.env.PARLEY_A2A ?? 'http://127.0.0.1:7878/a2a/parley/') // the agent, and a slash at the end

let contextId // the conversation
for (const text of ['My name is Ada.', 'What is my name?']) {
  const parts = [{ content: { $case: 'text', value: text } }]
  const message = { messageId: crypto.randomUUID(), role: 1, contextId, parts } // 1: the user
  const metadata = process.env.MODEL && { model: process.env.MODEL } // without it, the agent's
  for await (const { payload: { $case: kind, value } } of client.sendMessageStream({ message, metadata })) {
    contextId = value.contextId
    if (kind === 'artifactUpdate') process.stdout.write(value.artifact.parts[0].content.value)
    if (kind === 'statusUpdate' && value.status.message) console.log(value.status.message.parts[0].content.value)
  }
  console.log()
}
