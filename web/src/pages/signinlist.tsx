import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { request, sentence } from '../api/http';
import { principal } from '../api/queries';
import type { Page, SignIn } from '../api/types';
import { fullTime, time } from '../components/format';
import { signOut } from '../components/person';
import { Badge, Button, Failed, Loading } from '../components/ui';

const signInList = () => queryOptions({ queryKey: ['sign-ins'], queryFn: ({ signal }) => request<Page<SignIn>>('/v1/sign-ins', { signal }).then((page) => page.data), staleTime: 0 });

// SignIns lists the browsers that are signed in: one's own, or for admins the workspace's.
export function SignIns() {
  const queries = useQueryClient();
  const me = useQuery(principal()).data;
  const list = useQuery(signInList());
  const [error, setError] = useState('');
  const end = (one: SignIn) => {
    setError('');
    if (one.id === me?.sign_in_id) return signOut();
    request(`/v1/sign-ins/${one.id}`, { method: 'DELETE' }).then(
      () => void queries.invalidateQueries({ queryKey: ['sign-ins'] }),
      (failure: unknown) => setError(sentence(failure)),
    );
  };
  return (
    <section aria-labelledby="sign-ins" className="pt-3">
      <h2 id="sign-ins" className="font-semibold">
        Signed-in browsers
      </h2>
      <p className="mt-1 max-w-prose text-sm text-soft">A browser stays signed in for 30 days at most, and 7 without use. It never holds the key, and is signed out when the key ends.</p>
      {error && <Failed error={new Error(error)} />}
      {list.isPending && <Loading what="browsers" />}
      {list.isError && <Failed error={list.error} onRetry={() => void list.refetch()} />}
      {list.data?.length === 0 && <p className="mt-3 text-sm text-faint">None.</p>}
      <ul className="mt-2 divide-y divide-line">
        {list.data?.map((one) => (
          <li key={one.id} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-2.5 text-sm">
            <span className="font-medium">{one.principal_name}</span>
            {one.id === me?.sign_in_id && <Badge tone="accent">this browser</Badge>}
            <span className="ml-auto text-xs text-faint">
              since {fullTime(one.created_at)}, used {time(one.last_used_at)}
            </span>
            <Button look="danger" aria-label={`End ${one.principal_name}’s sign-in of ${fullTime(one.created_at)}`} onClick={() => end(one)}>
              End
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
