import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { ScrollText } from 'lucide-react';
import { useEffect } from 'react';
import { auditList } from '../api/queries';
import { fullTime } from '../components/format';
import { Button, Empty, Failed, Loading, Page } from '../components/ui';

export function AuditPage() {
  const { session, principal } = useSearch({ from: '/audit' });
  const filter: Record<string, string> = {};
  if (session) filter.session_id = session;
  if (principal) filter.principal_id = principal;
  const entries = useInfiniteQuery(auditList(filter));
  const rows = entries.data?.pages.flatMap((page) => page.data) ?? [];
  useEffect(() => {
    document.title = 'Audit – Parley';
  }, []);
  return (
    <Page
      wide
      title="Audit"
      about="Who read and wrote what. No content is kept here, and entries outlive what they are about."
      actions={
        (session || principal) && (
          <Link to="/audit" search={{}} className="text-sm text-accent underline underline-offset-2">
            Show everything
          </Link>
        )
      }
    >
      {entries.isPending && <Loading what="the audit" />}
      {entries.isError && <Failed error={entries.error} onRetry={() => void entries.refetch()} />}
      {entries.isSuccess && rows.length === 0 && <Empty icon={<ScrollText size={28} />} title="Nothing happened yet." />}
      {rows.length > 0 && (
        <div className="overflow-x-auto" tabIndex={0} role="region" aria-label="Audit entries">
          <table className="w-full min-w-160 text-left text-sm">
            <thead className="border-b border-line text-xs text-faint">
              <tr>
                <th className="py-2 pr-4 font-medium">When</th>
                <th className="pr-4 font-medium">Who</th>
                <th className="pr-4 font-medium">What</th>
                <th className="pr-4 font-medium">Conversation</th>
                <th className="font-medium">Request</th>
              </tr>
            </thead>
            <tbody className="divide-y divide-line">
              {rows.map((entry) => (
                <tr key={entry.id}>
                  <td className="py-1.5 pr-4 whitespace-nowrap text-soft">{fullTime(entry.at)}</td>
                  <td className="pr-4">
                    <Link to="/audit" search={{ session, principal: entry.principal_id }} className="hover:underline">
                      {entry.principal_name}
                    </Link>
                  </td>
                  <td className="pr-4 font-mono text-xs">{entry.action}</td>
                  <td className="pr-4 font-mono text-xs">
                    {entry.session_id && (
                      <Link to="/audit" search={{ session: entry.session_id, principal }} className="text-accent hover:underline">
                        …{entry.session_id.slice(-8)}
                      </Link>
                    )}
                  </td>
                  <td className="font-mono text-xs text-faint">…{entry.request_id.slice(-8)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {entries.hasNextPage && (
        <Button className="mt-4" disabled={entries.isFetchingNextPage} onClick={() => void entries.fetchNextPage()}>
          Show older
        </Button>
      )}
    </Page>
  );
}
