// Problem is an error of the API (RFC 9457): its sentence says what to do.
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestID: string,
    readonly state: string,
    readonly retryAfter: number | null,
    readonly fields: { field: string; message: string }[] = [], // that break a rule
  ) {
    super(message);
    this.name = 'Problem';
  }
}

// Offline means that the server does not respond at all.
export class Offline extends Error {
  constructor() {
    super('The server does not respond. What you typed is kept; the page tries again by itself.');
    this.name = 'Offline';
  }
}

type Query = Record<string, string | number | boolean | null | undefined | string[]>;

interface Options {
  method?: string;
  query?: Query;
  body?: unknown;
  raw?: { body: BodyInit; type?: string };
  key?: string; // idempotency
  signal?: AbortSignal;
}

export function address(path: string, query?: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined || value === null || value === '') continue;
    for (const one of Array.isArray(value) ? value : [value]) search.append(name, String(one));
  }
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}

let unauthorised = () => {};

// whenUnauthorised is called for every response that says that nobody is signed in.
export function whenUnauthorised(listener: () => void): void {
  unauthorised = listener;
}

// request calls the API; a failure is a Problem, or Offline.
export async function request<T>(path: string, options: Options = {}): Promise<T> {
  const text = await requestText(path, options);
  return (text ? JSON.parse(text) : undefined) as T;
}

// requestText returns the response's text unchanged.
export async function requestText(path: string, options: Options = {}): Promise<string> {
  const headers: Record<string, string> = { Accept: 'application/json' };
  let body: BodyInit | undefined;
  if (options.raw) {
    body = options.raw.body;
    if (options.raw.type) headers['Content-Type'] = options.raw.type;
  } else if (options.body !== undefined) {
    body = JSON.stringify(options.body);
    headers['Content-Type'] = 'application/json';
  }
  if (options.key) headers['Idempotency-Key'] = options.key;
  let response: Response;
  try {
    response = await fetch(address(path, options.query), {
      method: options.method ?? (body === undefined ? 'GET' : 'POST'),
      headers,
      body,
      signal: options.signal,
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Offline();
  }
  const text = await response.text();
  if (response.ok) return text;
  if (response.status === 401 && path !== '/v1/principal' && path !== '/v1/sign-in') unauthorised();
  throw problemOf(response.status, (name) => response.headers.get(name), text);
}

// problemOf reads an unsuccessful response.
export function problemOf(status: number, header: (name: string) => string | null, text: string): Problem {
  let said: { code?: string; detail?: string; title?: string; request_id?: string; state?: string | null; errors?: Problem['fields'] | null } = {};
  try {
    said = JSON.parse(text);
  } catch {
    // a proxy's page: only its status helps
  }
  const wait = Number(header('Retry-After'));
  return new Problem(
    status,
    said.code ?? `http_${status}`,
    said.detail ?? said.title ?? `The server answered ${status}.`,
    said.request_id ?? header('X-Request-Id') ?? '',
    said.state ?? '',
    Number.isFinite(wait) && wait > 0 ? wait : null,
    said.errors ?? [],
  );
}

// passes reports a failure that ends by itself: the same request may succeed later.
export function passes(failure: unknown): boolean {
  return failure instanceof Offline || (failure instanceof Problem && (failure.status >= 500 || failure.status === 429));
}

// sentence is the text about an error for a person.
export function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
