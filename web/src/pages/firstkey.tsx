import { useState } from 'react';
import { request, sentence } from '../api/http';
import type { Principal } from '../api/types';
import { keepFreshKey } from '../components/freshkey';
import { belongTo } from '../components/person';
import { Secret } from '../components/secret';
import { Button } from '../components/ui';
import { feed } from '../live/feed';

// FirstKey shows the first key to its maker, who needs it from now on, and signs in with it.
export function FirstKey({ secret }: { secret: string }) {
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const signIn = () => {
    setBusy(true);
    setError('');
    request<Principal>('/v1/sign-in', { body: { key: secret } }).then(
      ({ id }) => {
        keepFreshKey('');
        belongTo(id);
        feed.renew();
      },
      (failure: unknown) => {
        setError(sentence(failure));
        setBusy(false);
      },
    );
  };
  return (
    <div className="flex h-page items-center justify-center overflow-y-auto bg-raised p-4">
      <main className="w-full max-w-lg rounded-2xl border border-line bg-bg p-6 shadow-pop">
        <h1 className="text-lg font-semibold">Your first key</h1>
        <p className="mt-1 text-sm text-soft">From now on every request needs a key, and so do you. Copy it now: it is not shown again.</p>
        <div className="mt-4 rounded-xl border border-line bg-good-soft p-3">
          <Secret text={secret} />
        </div>
        {error && (
          <p role="alert" className="mt-3 text-sm text-bad">
            {error}
          </p>
        )}
        <Button look="primary" disabled={busy} onClick={signIn} className="mt-4 h-9 w-full" autoFocus>
          Sign in with it
        </Button>
      </main>
    </div>
  );
}
