import { useQuery } from '@tanstack/react-query';
import { principal } from '../api/queries';

// useReader tells that whoever looks may read and not write: nothing is offered that
// the server would refuse.
export function useReader(): boolean {
  return useQuery(principal()).data?.role === 'reader';
}
