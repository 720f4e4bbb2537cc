import type { QueryClient } from '@tanstack/react-query';
import { Problem } from '../api/http';
import { feed } from './feed';

// retryWhenBack asks again for everything shown that failed, or waits between two attempts,
// as soon as the server is back.
export function retryWhenBack(queries: QueryClient): void {
  let was = feed.linkState();
  feed.onState(() => {
    const now = feed.linkState();
    const back = now === 'live' && was !== 'live';
    was = now;
    if (!back) return;
    for (const query of queries.getQueryCache().findAll({ type: 'active' })) {
      const { status, fetchFailureCount, error } = query.state;
      if (status !== 'error' && fetchFailureCount === 0) continue;
      if (error instanceof Problem && error.status < 500) continue; // the server refused it
      void query.cancel({ silent: true }).then(() => query.fetch().catch(() => undefined)); // shown where it is used
    }
  });
}
