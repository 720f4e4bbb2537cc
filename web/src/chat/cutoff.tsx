import { useState } from 'react';
import { request, sentence } from '../api/http';
import type { ID } from '../api/types';
import { useReader } from '../components/role';
import { Button } from '../components/ui';

const GO_ON = 'Continue where you stopped.';

// CutOff says that an answer reached its token limit, and offers to continue.
export function CutOff({ session }: { session: ID }) {
  const reader = useReader();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  const goOn = () => {
    setBusy(true);
    request(`/v1/sessions/${session}/messages`, { body: { role: 'user', content: { text: GO_ON } } }).catch((failure: unknown) => {
      setError(sentence(failure));
      setBusy(false);
    });
  };
  return (
    <div className="mt-3 flex flex-wrap items-center gap-2 text-sm text-soft">
      <span>The answer was cut off at its token limit.</span>
      {!reader && (
        <Button disabled={busy} onClick={goOn}>
          Continue
        </Button>
      )}
      {error && (
        <span role="alert" className="text-bad">
          {error}
        </span>
      )}
    </div>
  );
}
