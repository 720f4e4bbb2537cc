import { useState } from 'react';
import { request, sentence } from '../api/http';
import type { Principal } from '../api/types';
import { belongTo } from '../components/person';
import { Button, Field, Input } from '../components/ui';
import { feed } from '../live/feed';

// SignIn asks for a key if the server requires one. The server answers with a cookie that
// no script can read; the page forgets the key immediately.
export function SignIn() {
  const [key, setKey] = useState('');
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  return (
    <div className="flex h-page items-center justify-center bg-raised p-4">
      <main className="w-full max-w-sm rounded-2xl border border-line bg-bg p-6 shadow-pop">
        <img src="/icon.svg" alt="" className="size-10" />
        <h1 className="mt-4 text-lg font-semibold">Sign in to Parley</h1>
        <p className="mt-1 text-sm text-soft">
          This server asks for a key. An admin creates one with <code className="rounded bg-sunken px-1 font-mono text-xs">parley keys create</code>.
        </p>
        <form
          className="mt-5 space-y-4"
          onSubmit={(event) => {
            event.preventDefault();
            setBusy(true);
            request<Principal>('/v1/sign-in', { body: { key } }).then(
              ({ id }) => {
                belongTo(id);
                feed.renew();
              },
              (failure: unknown) => {
                setError(sentence(failure));
                setBusy(false);
              },
            );
          }}
        >
          <Field label="Key">
            <Input type="password" autoComplete="off" autoFocus value={key} onChange={(event) => setKey(event.target.value)} required />
          </Field>
          {error && (
            <p role="alert" className="text-sm text-bad">
              {error}
            </p>
          )}
          <Button look="primary" type="submit" disabled={busy || key.trim() === ''} className="h-9 w-full">
            Sign in
          </Button>
        </form>
      </main>
    </div>
  );
}
