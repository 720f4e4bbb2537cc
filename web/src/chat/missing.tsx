import { Link } from '@tanstack/react-router';
import { MessageCircleOff } from 'lucide-react';
import { Problem, sentence } from '../api/http';
import { Empty, Failed } from '../components/ui';

const WAY = 'rounded-lg border border-line-strong bg-bg px-3 py-1.5 text-sm font-medium text-text hover:bg-hover';

// Missing replaces a conversation that cannot be shown, because it does not exist or the
// server cannot return it now.
export function Missing({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const none = error instanceof Problem && error.status === 404;
  return (
    <div className="mx-auto w-full max-w-xl flex-1 px-4 pt-20">
      {none ? (
        <Empty icon={<MessageCircleOff size={28} />} title={error.code === 'deleted' ? sentence(error) : 'Conversation not found'}>
          <p>{error.code === 'deleted' ? 'Its forks still exist.' : 'It was deleted, belongs to somebody else, or never existed. Check the address.'}</p>
          <p className="mt-4 flex justify-center gap-2">
            <Link to="/new" className={WAY}>
              New conversation
            </Link>
            <Link to="/search" className={WAY}>
              Search
            </Link>
          </p>
        </Empty>
      ) : (
        <Failed error={error} onRetry={onRetry} />
      )}
    </div>
  );
}
