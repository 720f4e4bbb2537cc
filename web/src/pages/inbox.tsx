import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ShieldCheck } from 'lucide-react';
import { useEffect, useState } from 'react';
import { approvalList, sessionOf } from '../api/queries';
import type { Approval } from '../api/types';
import { ApprovalCard } from '../chat/approval';
import { Payload } from '../chat/tools';
import { fullTime, time } from '../components/format';
import { Badge, Button, Empty, Failed, Loading, Page } from '../components/ui';

export function InboxPage() {
  const [all, setAll] = useState(false);
  const pending = useQuery(approvalList('pending'));
  const decided = useQuery({ ...approvalList(''), enabled: all });
  useEffect(() => {
    document.title = 'Approvals – Parley';
  }, []);
  return (
    <Page title="Approvals" about="Calls that may destroy something wait here for a person. Each answer covers one exact call.">
      {pending.isPending && <Loading what="approvals" />}
      {pending.isError && <Failed error={pending.error} onRetry={() => void pending.refetch()} />}
      {pending.data?.length === 0 && <Empty icon={<ShieldCheck size={28} />} title="Nothing waits for you." />}
      <ul className="space-y-4">
        {pending.data?.map((approval) => (
          <li key={approval.id} className="space-y-3 rounded-2xl border border-line p-4">
            <Where approval={approval} />
            <Payload name="Arguments" text={JSON.stringify(approval.arguments, null, 2)} />
            <ApprovalCard approval={approval} />
          </li>
        ))}
      </ul>
      <div className="mt-8">
        {!all ? (
          <Button onClick={() => setAll(true)}>Show decided approvals</Button>
        ) : (
          <Decided approvals={(decided.data ?? []).filter((approval) => approval.state !== 'pending')} />
        )}
      </div>
    </Page>
  );
}

function Where({ approval }: { approval: Approval }) {
  const { data: session } = useQuery(sessionOf(approval.session_id));
  return (
    <p className="flex items-center justify-between gap-3 text-sm">
      <Link to="/c/$id" params={{ id: approval.root_id }} className="truncate font-medium text-accent underline underline-offset-2">
        {session?.title || 'A conversation'}
      </Link>
      <time className="shrink-0 text-xs text-faint" dateTime={approval.created_at}>
        {fullTime(approval.created_at)}
      </time>
    </p>
  );
}

const TONES = { approved: 'good', denied: 'bad', expired: 'warn', cancelled: 'plain', pending: 'plain' } as const;

function Decided({ approvals }: { approvals: Approval[] }) {
  if (approvals.length === 0) return <p className="text-sm text-faint">None decided yet.</p>;
  return (
    <table className="w-full text-left text-sm">
      <thead className="text-xs text-faint">
        <tr>
          <th className="py-2 font-medium">Tool</th>
          <th className="font-medium">State</th>
          <th className="font-medium">Conversation</th>
          <th className="text-right font-medium">Asked</th>
        </tr>
      </thead>
      <tbody className="divide-y divide-line">
        {approvals.map((approval) => (
          <tr key={approval.id}>
            <td className="py-2 font-mono text-xs">{approval.tool_name}</td>
            <td>
              <Badge tone={TONES[approval.state]}>{approval.state}</Badge>
            </td>
            <td>
              <Link to="/c/$id" params={{ id: approval.session_id }} className="text-accent underline underline-offset-2">
                open
              </Link>
            </td>
            <td className="text-right text-xs text-faint">{time(approval.created_at)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
