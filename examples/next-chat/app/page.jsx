'use client'

import { useEffect, useState } from 'react'
import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport } from 'ai'

const api = '/chat/parley' // the agent's slug; route.js passes it on to Parley
const transport = new DefaultChatTransport({ api })

// The chat's id is kept in the address, so that a reload finds it; its messages are kept by Parley.
export default function Page() {
  const [start, setStart] = useState()
  useEffect(() => {
    const id = location.hash.slice(1) || crypto.randomUUID()
    location.hash = id
    fetch(`${api}/${id}/messages`)
      .then((answer) => (answer.ok ? answer.json() : { messages: [] }))
      .then(({ messages }) => setStart({ id, messages }))
  }, [])
  return start && <Chat {...start} />
}

function Chat({ id, messages: initial }) {
  const [text, setText] = useState('')
  const { messages, setMessages, sendMessage, resumeStream, status, error } =
    useChat({ id, messages: initial, transport, resume: true })
  useEffect(() => { // the server went away in the middle of an answer: ask again, until it is back
    if (!error) return
    const again = setTimeout(async () => {
      const answer = await fetch(`${api}/${id}/messages`).catch(() => undefined)
      if (answer?.ok) setMessages((await answer.json()).messages)
      resumeStream()
    }, 1000)
    return () => clearTimeout(again)
  }, [error])
  const send = (event) => {
    event.preventDefault()
    sendMessage({ text })
    setText('')
  }
  return (
    <main>
      {messages.map((message) => (
        <p key={message.id}>
          <b>{message.role}</b> {message.parts.map((part) => part.text ?? '').join('')}
        </p>
      ))}
      <form onSubmit={send}>
        <input value={text} onChange={(event) => setText(event.target.value)} placeholder="Say something" />
        <button disabled={status === 'streaming' || !text}>Send</button>
      </form>
    </main>
  )
}
