import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { request, sentence } from '../api/http';
import type { Compaction, ID, Message } from '../api/types';
import { compact, money, number } from '../components/format';
import { Button, Dialog, Failed, Field, Loading, TextArea } from '../components/ui';
import { focusComposer } from './focus';
import { revises } from './covers';
import { noSummary, useWish, type Wish } from './summarising';

const LONGEST_INSTRUCTIONS = 16_384;

// Summarise shows what a summary would cover and cost, and has it written.
export function Summarise({ session }: { session: ID }) {
  const wish = useWish(session);
  const close = () => {
    noSummary();
    setTimeout(focusComposer);
  };
  return (
    <Dialog open={wish !== null} onClose={close} title={wish?.replaces ? 'Write the summary again?' : 'Summarise older messages?'} about="The record stays complete: the model sees the summary in place of what it covers, and you can read all of it at any time.">
      {wish && <Asks wish={wish} onClose={close} />}
    </Dialog>
  );
}

function Asks({ wish, onClose }: { wish: Wish; onClose: () => void }) {
  const queries = useQueryClient();
  const { session, replaces } = wish;
  const [instructions, setInstructions] = useState(wish.instructions);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  const path = `/v1/sessions/${session}/compact`;
  const preview = useQuery({
    queryKey: ['summary', session],
    queryFn: ({ signal }) => request<Compaction>(path, { body: { preview: true }, signal }),
    enabled: !replaces,
    retry: false,
    staleTime: 0,
    gcTime: 0,
  });
  const begin = async () => {
    setBusy(true);
    setError('');
    const body = { ...(replaces ? { through: replaces.through } : {}), ...(instructions.trim() ? { instructions } : {}) };
    try {
      const aside = replaces ? await versionsAside(session, replaces.id) : [];
      await request(path, { body }).catch(async (failure: unknown) => {
        for (const one of aside) await setAside(session, one, false); // the model sees it again
        throw failure;
      });
      void queries.invalidateQueries({ queryKey: ['context', session] });
      onClose();
    } catch (failure) {
      setError(sentence(failure));
      setBusy(false);
    }
  };
  if (preview.isLoading) return <Loading what="what it would cover" />;
  if (preview.isError) return <Failed error={preview.error} />;
  return (
    <form
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        void begin();
      }}
    >
      {replaces ? (
        <p className="text-sm">
          The present summary of #{replaces.from} to #{replaces.through} is set aside and stays readable. Until the new one is written, the model is shown the messages themselves, as far as they fit.
        </p>
      ) : (
        preview.data && <Foretold compaction={preview.data} />
      )}
      <Field label="Instructions" hint="What it must contain besides the usual. May be empty.">
        <TextArea rows={2} maxLength={LONGEST_INSTRUCTIONS} value={instructions} onChange={(event) => setInstructions(event.target.value)} />
      </Field>
      {error && (
        <p role="alert" className="text-sm text-bad">
          {error}
        </p>
      )}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button look="primary" type="submit" disabled={busy}>
          {replaces ? 'Write it again' : 'Summarise'}
        </Button>
      </div>
    </form>
  );
}

const setAside = (session: ID, message: ID, set_aside: boolean) => request<Message>(`/v1/messages/${message}/marks`, { method: 'PUT', query: { session }, body: { set_aside } });

// versionsAside sets a summary aside, and the versions that it was edited from: each would come into force again.
async function versionsAside(session: ID, latest: ID): Promise<ID[]> {
  const aside: ID[] = [];
  for (let id: ID | null = latest; id; ) {
    const message: Message = await setAside(session, id, true);
    aside.push(id);
    id = revises(message);
  }
  return aside;
}

// Foretold says what would leave the context, and what that costs.
function Foretold({ compaction: { covers_from, covers_through, absorbs_id, preview } }: { compaction: Compaction }) {
  if (!preview) return null;
  const { messages, tokens, model, request_tokens, cached_tokens, output_tokens_most, cost_most, cost_most_if_cached } = preview;
  return (
    <dl aria-label="What would happen" className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1.5 text-sm">
      <dt className="text-soft">Leaves</dt>
      <dd>
        #{covers_from} to #{covers_through}: {number(messages)} {messages === 1 ? 'message' : 'messages'}
        {absorbs_id && ' and the earlier summary'}, about {compact(tokens)} tokens
      </dd>
      <dt className="text-soft">Written by</dt>
      <dd className="break-all">{model}</dd>
      <dt className="text-soft">Reads</dt>
      <dd>
        about {compact(request_tokens)} tokens{cached_tokens > 0 && `, up to ${compact(cached_tokens)} of them from the cache`}
      </dd>
      <dt className="text-soft">Costs</dt>
      <dd>
        {cost_most === null ? 'unknown: the model has no price' : `at most ${money(cost_most)}`}
        {cached_tokens > 0 && cost_most_if_cached !== null && cost_most_if_cached !== cost_most && `, ${money(cost_most_if_cached)} with a warm cache`} ({compact(output_tokens_most)} tokens of summary at most)
      </dd>
    </dl>
  );
}
