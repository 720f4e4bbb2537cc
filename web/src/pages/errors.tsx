import { Link, type ErrorComponentProps } from '@tanstack/react-router';
import { Compass } from 'lucide-react';
import { Empty, Failed, Page } from '../components/ui';

export function NotFound() {
  return (
    <Page title="Not here">
      <Empty icon={<Compass size={28} />} title="There is no page at this address.">
        <Link to="/new" className="text-accent underline">
          Start a conversation
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
