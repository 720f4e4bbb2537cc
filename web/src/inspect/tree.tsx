import { useQuery } from '@tanstack/react-query';
import { treeOf } from '../api/queries';
import type { TreeNode } from '../api/types';
import { compact, money } from '../components/format';
import { StatusDot, statusName } from '../components/status';
import { cx } from '../components/ui';
import { titleOf } from '../components/title';

const INDENTS = ['pl-2', 'pl-5', 'pl-8', 'pl-11', 'pl-14', 'pl-17'];

// SessionTree shows a session and those that its calls opened; each opens in place.
export function SessionTree({ root, shown, onShow }: { root: string; shown: string; onShow: (id: string) => void }) {
  const tree = useQuery(treeOf(root));
  if (!tree.data || tree.data.data.length < 2) return null; // there are no others
  const { data, truncated } = tree.data;
  return (
    <nav aria-label="Sub-conversations" className="flex w-56 shrink-0 flex-col border-r border-line bg-raised max-md:max-h-26 max-md:w-full max-md:border-r-0 max-md:border-b max-md:pl-10">
      <h2 className="px-3 pt-3 pb-1 text-xs font-semibold text-faint max-md:hidden">Sub-conversations</h2>
      <ul className="min-h-0 flex-1 overflow-y-auto p-1">
        {data.map((node) => (
          <li key={node.id}>
            <Node node={node} here={node.id === shown} onShow={() => onShow(node.id)} />
          </li>
        ))}
        {truncated && <li className="px-3 py-2 text-xs text-faint">There are more.</li>}
      </ul>
    </nav>
  );
}

function Node({ node, here, onShow }: { node: TreeNode; here: boolean; onShow: () => void }) {
  return (
    <button type="button" aria-current={here ? 'true' : undefined} onClick={onShow} className={cx('block w-full rounded-lg py-1.5 pr-2 text-left text-sm hover:bg-hover', INDENTS[Math.min(node.depth, INDENTS.length - 1)], here && 'bg-hover font-medium')}>
      <span className="flex items-center gap-2">
        <StatusDot status={node.status} wait={node.wait_reason} />
        <span className="sr-only">{statusName(node.status, node.wait_reason)}</span>
        <span className="min-w-0 flex-1 truncate">{titleOf(node)}</span>
      </span>
      <span className="block truncate pl-4 text-xs font-normal text-faint">
        {node.agent_slug} · {compact(node.total.input_tokens + node.total.output_tokens)} tokens{node.total.cost > 0 && ` · ${money(node.total.cost)}`}
      </span>
    </button>
  );
}
