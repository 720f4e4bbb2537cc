// Passes the chat's requests on to Parley, with a key that the browser never sees.
const parley = process.env.PARLEY_URL ?? 'http://127.0.0.1:7878'
const key = process.env.PARLEY_KEY

async function pass(request, { params }) {
  const path = (await params).path.map(encodeURIComponent).join('/')
  const headers = { 'content-type': 'application/json', 'x-ai-sdk-version': '5' }
  if (key) headers.authorization = `Bearer ${key}`
  const body = request.method === 'POST' ? await request.text() : undefined
  const answer = await fetch(`${parley}/ai-sdk/${path}`, { method: request.method, headers, body })
  return new Response(answer.body, { status: answer.status, headers: answer.headers })
}

export { pass as GET, pass as POST }
