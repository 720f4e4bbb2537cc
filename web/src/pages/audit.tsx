import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { ScrollText } from 'lucide-react';
import { useEffect } from 'react';
import { auditList } from '../api/queries';
import { fullTime } from '../components/format';
import { useRole } from '../components/role';
import { titled } from '../components/tab';
import { Button, Empty, Failed, Loading, Page } from '../components/ui';

export function AuditPage() {
  const { session, principal, all } = useSearch({ from: '/audit' });
  const navigate = useNavigate();
  const filter: Record<string, string> = all ? {} : { changes: 'true' };
  if (session) filter.session_id = session;
  if (principal) filter.principal_id = principal;
  const role = useRole();
  const entries = useInfiniteQuery({ ...auditList(filter), enabled: role === 'admin' });
  const rows = entries.data?.pages.flatMap((page) => page.data) ?? [];
  useEffect(() => {
    titled('Audit – Parley');
  }, []);
  if (role && role !== 'admin') {
    return (
      <Page title="Audit">
        <Empty icon={<ScrollText size={28} />} title="The audit is for admins.">
          Only admins can see who changed what: ask an admin of this workspace.
        </Empty>
      </Page>
    );
  }
  return (
    <Page
      wide
      title="Audit"
      about="Who changed what, and if you like, who read it. Entries contain no content, and stay when their target is deleted."
      actions={
        <div className="flex flex-wrap items-center gap-3">
          {(session || principal) && (
            <Link to="/audit" search={{ all }} className="text-sm text-accent underline underline-offset-2">
              Clear filters
            </Link>
          )}
          <Button look="quiet" aria-pressed={Boolean(all)} onClick={() => void navigate({ to: '/audit', search: { session, principal, all: all ? undefined : 'true' } })}>
            {all ? 'Changes only' : 'Show reads too'}
          </Button>
        </div>
      }
    >
      {entries.isPending && <Loading what="the audit" />}
      {entries.isError && <Failed error={entries.error} onRetry={() => void entries.refetch()} />}
      {entries.isSuccess && rows.length === 0 && <Empty icon={<ScrollText size={28} />} title={all ? 'No entries yet.' : 'No changes yet.'} />}
      {rows.length > 0 && (
        <div className="overflow-x-auto" tabIndex={0} role="region" aria-label="Audit entries">
          <table className="w-full text-left text-sm max-sm:block sm:min-w-160">
            <thead className="border-b border-line text-xs text-faint max-sm:sr-only">
              <tr>
                <th className="py-2 pr-4 font-medium">When</th>
                <th className="pr-4 font-medium">Who</th>
                <th className="pr-4 font-medium">What</th>
                <th className="pr-4 font-medium">Conversation</th>
                <th className="font-medium">Request</th>
              </tr>
            </thead>
            <tbody className="divide-y divide-line max-sm:block">
              {rows.map((entry) => (
                <tr key={entry.id} className="max-sm:flex max-sm:flex-wrap max-sm:gap-x-3 max-sm:py-2">
                  <td className="whitespace-nowrap text-soft sm:py-1.5 sm:pr-4 max-sm:w-full max-sm:text-xs">{fullTime(entry.at)}</td>
                  <td className="font-medium sm:pr-4 sm:font-normal">
                    <Link to="/audit" search={{ session, principal: entry.principal_id, all }} className="hover:underline">
                      {entry.principal_name}
                    </Link>
                  </td>
                  <td className="sm:pr-4" title={entry.action}>
                    {inWords(entry.action)}
                  </td>
                  <td className="self-center font-mono text-xs empty:hidden sm:pr-4 sm:empty:table-cell">
                    {entry.session_id && (
                      <Link to="/audit" search={{ session: entry.session_id, principal, all }} className="text-accent hover:underline">
                        …{entry.session_id.slice(-8)}
                      </Link>
                    )}
                  </td>
                  <td className="self-center font-mono text-xs text-faint">…{entry.request_id.slice(-8)}</td>
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

// inWords turns the API's approveCall into “approve call”.
function inWords(action: string): string {
  return action.replace(/_/g, ' ').replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
