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

// useMine tells whether a principal's id is that of whoever looks.
export function useMine(): (id: string) => boolean {
  const me = useQuery(principal()).data?.id;
  return (id) => id === me;
}

// useOwns tells whether whoever looks may say what runs in somebody's conversation: as
// its owner, or as an admin.
export function useOwns(owner: string): boolean {
  const me = useQuery(principal()).data;
  return me?.id === owner || me?.role === 'admin';
}
