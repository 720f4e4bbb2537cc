import type { Session } from '../api/types';
import { Button, Dialog } from '../components/ui';
import { ChangeCost } from '../context/changecost';

// ModelChange tells what another model costs a conversation, before it answers there.
export function ModelChange({ session, model, name, onChange, onClose }: { session: Session; model: string | null; name: string; onChange: () => void; onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} title="Change the model?" about={`From the next turn on, ${name} answers in this conversation.`}>
      <ChangeCost session={session.id} change={{ session: { model } }} className="min-h-5 text-sm" />
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          look="primary"
          autoFocus
          onClick={() => {
            onClose();
            onChange();
          }}
        >
          Change it
        </Button>
      </div>
    </Dialog>
  );
}
