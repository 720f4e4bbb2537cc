import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { treeOf } from '../api/queries';
import type { Session, TreeNode } from '../api/types';
import { compact, money, number } from '../components/format';
import { StatusDot, statusName } from '../components/status';
import { cx, Failed, Loading } from '../components/ui';
import { titleOf } from '../components/title';

// SubConversations is the tree of conversations that agents opened as tools, from its
// root, with the cost of each.
export function SubConversations({ session }: { session: Session }) {
  const root = session.root_id;
  const tree = useQuery(treeOf(root));
  if (tree.isPending) return <Loading what="the tree" />;
  if (tree.isError) return <Failed error={tree.error} onRetry={() => void tree.refetch()} />;
  const { data, total, truncated } = tree.data;
  if (data.length < 2) return <p className="text-sm text-soft">No sub-conversations yet. An agent whose tools are agents opens one for each call; they appear here while they work.</p>;
  return (
    <>
      <p className="mb-3 text-sm text-soft">
        {number(total.sessions)} conversations, {number(total.turns)} turns, {compact(total.input_tokens)} tokens in and {compact(total.output_tokens)} out, {money(total.cost)}
        {total.unpriced_calls > 0 && ' and calls with unknown price'}
      </p>
      <ul aria-label="Sub-conversations" className="-mx-2">
        {data.map((node) => (
          <li key={node.id}>
            <Node node={node} open={node.id === session.id} />
          </li>
        ))}
      </ul>
      {truncated && <p className="mt-3 text-sm text-faint">There are more; these are the first {number(data.length)}.</p>}
    </>
  );
}

const INDENTS = ['pl-2', 'pl-6', 'pl-10', 'pl-14', 'pl-[4.5rem]'];

function Node({ node, open }: { node: TreeNode; open: boolean }) {
  return (
    <Link
      to="/c/$id"
      params={{ id: node.id }}
      search={{ panel: 'tree' }}
      aria-current={open ? 'page' : undefined}
      className={cx('block rounded-lg py-1.5 pr-2 text-sm hover:bg-hover', INDENTS[Math.min(node.depth, INDENTS.length - 1)], open && 'bg-hover font-medium')}
    >
      <span className="flex items-center gap-2">
        <StatusDot status={node.status} wait={node.wait_reason} />
        <span className="sr-only">level {node.depth + 1}</span>
        <span className="min-w-0 flex-1 truncate">{titleOf(node)}</span>
        <span className="shrink-0 text-xs text-faint">{money(node.total.cost)}</span>
      </span>
      <span className="ml-4 block truncate text-xs font-normal text-faint">
        {node.agent_slug} · {statusName(node.status, node.wait_reason)} · {compact(node.total.input_tokens + node.total.output_tokens)} tokens
      </span>
    </Link>
  );
}
