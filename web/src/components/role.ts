import { useQuery } from '@tanstack/react-query';
import { principal } from '../api/queries';
import type { Principal } from '../api/types';

// useReader reports whether the user may only read: the page offers nothing that the
// server would refuse.
export function useReader(): boolean {
  return useRole() === 'reader';
}

// useRole is the user's role, undefined until it is known.
export function useRole(): Principal['role'] | undefined {
  return useQuery(principal()).data?.role;
}

// useMine reports whether a principal's id is the user's own.
export function useMine(): (id: string) => boolean {
  const me = useQuery(principal()).data?.id;
  return (id) => id === me;
}

// useOwns reports whether the user may decide what runs in a conversation: as its owner,
// or as an admin.
export function useOwns(owner: string): boolean {
  const me = useQuery(principal()).data;
  return me?.id === owner || me?.role === 'admin';
}
