import { useQuery } from '@tanstack/react-query';
import { principal } from '../api/queries';
import type { Principal } from '../api/types';

// useReader tells that whoever looks may read and not write: nothing is offered that
// the server would refuse.
export function useReader(): boolean {
  return useRole() === 'reader';
}

// useRole is whoever looks' role, undefined until it is known.
export function useRole(): Principal['role'] | undefined {
  return useQuery(principal()).data?.role;
}
