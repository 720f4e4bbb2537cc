import { Link, useLocation } from '@tanstack/react-router';
import { X } from 'lucide-react';
import { outbox, type Posted, useOutbox } from '../live/outbox';
import { IconButton } from './ui';

// OutboxNote says, on every other page, that a message waits to be sent or was refused.
export function OutboxNote() {
  const { pathname } = useLocation();
  const elsewhere = useOutbox().filter((one) => !one.hold && addressOf(one) !== pathname);
  const waiting = elsewhere.filter((one) => !one.refused).length;
  return (
    <>
      {waiting > 0 && (
        <p role="status" className="rounded-full border border-line bg-warn-soft px-3 py-1 text-xs font-medium text-warn shadow-pop">
          {waiting === 1 ? 'A message waits' : `${waiting} messages wait`} for the server and will be sent.
        </p>
      )}
      {elsewhere.map((one) => one.refused && <Refused key={one.key} message={one} />)}
    </>
  );
}

function addressOf({ session }: Posted): string {
  return session ? `/c/${session}` : '/new';
}

function Refused({ message }: { message: Posted }) {
  return (
    <div role="alert" className="pointer-events-auto flex max-w-full items-center gap-2 rounded-xl border border-line bg-bad-soft py-1 pr-1 pl-3 text-xs text-bad shadow-pop">
      <span className="min-w-0 break-words">
        Not sent: “{message.text.slice(0, 60)}”. {message.refused}
      </span>
      <Link to={addressOf(message)} className="shrink-0 underline underline-offset-2">
        Open
      </Link>
      <IconButton name="Discard the message" onClick={() => outbox.take(message.key)}>
        <X size={14} />
      </IconButton>
    </div>
  );
}
