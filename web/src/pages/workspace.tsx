import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Building2, Lock, type LucideIcon } from 'lucide-react';
import { useState } from 'react';
import { request, sentence } from '../api/http';
import { workspace } from '../api/queries';
import type { Workspace } from '../api/types';
import { useRole } from '../components/role';
import { cx, Failed, Loading } from '../components/ui';

const CHOICES: [Workspace['visibility'], string, string, LucideIcon][] = [
  ['private', 'Their owners and admins', 'Everybody works alone until they share a conversation.', Lock],
  ['workspace', 'Everybody in the workspace', 'People and agents with keys of their own find each other’s conversations.', Building2],
];

// WorkspaceSettings says who sees new conversations; admins choose it.
export function WorkspaceSettings() {
  const queries = useQueryClient();
  const now = useQuery(workspace());
  const admin = useRole() === 'admin';
  const [error, setError] = useState('');
  if (now.isPending) return <Loading what="the workspace" />;
  if (now.isError) return <Failed error={now.error} onRetry={() => void now.refetch()} />;
  const { queryKey } = workspace();
  const choose = (visibility: Workspace['visibility']) => {
    setError('');
    queries.setQueryData(queryKey, { ...now.data, visibility });
    request<Workspace>('/v1/workspace', { method: 'PATCH', body: { visibility } }).then(
      (changed) => queries.setQueryData(queryKey, changed),
      (failure: unknown) => {
        queries.setQueryData(queryKey, now.data);
        setError(sentence(failure));
      },
    );
  };
  return (
    <fieldset className="max-w-xl space-y-3" disabled={!admin}>
      <legend className="text-sm font-medium">Who sees a new conversation in {now.data.name}</legend>
      <p className="text-sm text-soft">This holds where nobody chooses otherwise. Existing conversations stay as they are.{!admin && ' Admins of the workspace can change it.'}</p>
      {CHOICES.map(([key, label, says, Icon]) => (
        <label key={key} className={cx('flex items-start gap-3 rounded-xl border p-3 text-sm', now.data.visibility === key ? 'border-accent bg-accent-soft' : 'border-line', admin && 'cursor-pointer hover:border-accent')}>
          <input type="radio" name="visibility" className="mt-1" checked={now.data.visibility === key} onChange={() => choose(key)} />
          <span className="min-w-0 flex-1">
            <span className="block font-medium">{label}</span>
            <span className="text-soft">{says}</span>
          </span>
          <Icon size={16} aria-hidden className="mt-0.5 shrink-0 text-soft" />
        </label>
      ))}
      {error && <Failed error={new Error(error)} />}
    </fieldset>
  );
}
