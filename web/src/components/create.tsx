import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { sentence } from '../api/http';
import { Button, Dialog } from './ui';

interface Props<T> {
  open: boolean;
  onClose: () => void;
  title: string;
  about: string;
  label: string; // of the button that creates
  ready: boolean; // all required fields are filled in
  list: string; // the list that will contain it
  create: () => Promise<T>;
  onCreated: (created: T) => void;
  children: ReactNode; // the fields
}

// CreateDialog asks for the fields of a new thing, and shows the server's errors.
export function CreateDialog<T>({ open, onClose, title, about, label, ready, list, create, onCreated, children }: Props<T>) {
  const queries = useQueryClient();
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const close = () => {
    setError('');
    onClose();
  };
  return (
    <Dialog open={open} onClose={close} title={title} about={about}>
      <form
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          setBusy(true);
          create()
            .then(
              (created) => {
                void queries.invalidateQueries({ queryKey: [list] });
                close();
                onCreated(created);
              },
              (failure: unknown) => setError(sentence(failure)),
            )
            .finally(() => setBusy(false));
        }}
      >
        {children}
        {error && (
          <p role="alert" className="text-sm text-bad">
            {error}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={close}>Cancel</Button>
          <Button look="primary" type="submit" disabled={!ready || busy}>
            {label}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
