import { Link, type ErrorComponentProps } from '@tanstack/react-router';
import { Compass } from 'lucide-react';
import { useEffect } from 'react';
import { Problem } from '../api/http';
import { titled } from '../components/tab';
import { Empty, Failed, Page } from '../components/ui';

export function NotFound() {
  return (
    <Page title="Page not found">
      <Empty icon={<Compass size={28} />} title="There is no page at this address.">
        <Link to="/new" className="text-accent underline">
          Start a conversation
        </Link>
      </Empty>
    </Page>
  );
}

// NoSuch replaces an agent, a project, a team or a document that cannot be shown, because it does not exist
// or the server cannot return it now.
export function NoSuch({ what, list, error, onRetry }: { what: 'agent' | 'project' | 'run' | 'team' | 'document'; list: '/agents' | '/projects' | '/team' | '/documents'; error: unknown; onRetry: () => void }) {
  const none = error instanceof Problem && error.status === 404;
  useEffect(() => {
    titled(none ? `No such ${what} – Parley` : 'Parley');
  }, [none, what]);
  if (!none) {
    return (
      <Page title="Not available right now">
        <Failed error={error} onRetry={onRetry} />
      </Page>
    );
  }
  return (
    <Page title={`No such ${what}`}>
      <Empty icon={<Compass size={28} />} title={`There is no ${what} at this address.`}>
        <p>It was removed, belongs to another workspace, or never existed.</p>
        <Link to={list} className="mt-2 inline-block text-accent underline underline-offset-2">
          All {what}s
        </Link>
      </Empty>
    </Page>
  );
}

export function RouteError({ error, reset }: ErrorComponentProps) {
  return (
    <Page title="This page broke">
      <Failed error={error} onRetry={reset} />
    </Page>
  );
}
