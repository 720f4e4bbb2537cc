import { ExternalLink, MessageCircleQuestion } from 'lucide-react';
import { type FormEvent, useMemo, useState } from 'react';
import type { Approval } from '../api/types';
import { fullTime } from '../components/format';
import { useReader } from '../components/role';
import { Button } from '../components/ui';
import { useDecision } from './decide';
import { answerOf, type Entry, formOf, hostOf, jsonIn } from './form';
import { FormFields, WholeAnswer } from './formfields';

// ToolQuestion is what a tool asks in the middle of a call, with a form for the answer. All of it comes from the tool's
// server, and is shown as text.
export function ToolQuestion({ approval, asked }: { approval: Approval; asked: NonNullable<Approval['question']> }) {
  const reader = useReader();
  const { busy, error, decide } = useDecision(approval);
  const form = useMemo(() => formOf(asked.schema ?? { properties: {} }), [asked.schema]);
  const [entries, setEntries] = useState<Entry[]>(() => form?.map(({ initial }) => initial) ?? ['']);
  const [wrong, setWrong] = useState<Record<number, string | undefined>>({});
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (asked.url !== null) return void decide({ decision: 'approve' });
    const whole = form ? answerOf(form, entries) : wholeOf(String(entries[0]));
    setWrong(whole.wrong);
    if (Object.keys(whole.wrong).length === 0) void decide({ decision: 'approve', answer: whole.answer });
    else focusField(event.currentTarget as HTMLElement, Number(Object.keys(whole.wrong)[0]));
  };
  const change = (at: number, entry: Entry) => {
    setEntries((old) => old.with(at, entry));
    setWrong((old) => ({ ...old, [at]: undefined }));
  };
  return (
    <form noValidate onSubmit={send} className="space-y-3 rounded-lg border border-line bg-warn-soft p-3" data-approval={approval.id}>
      <p className="flex items-center gap-2 font-medium text-warn">
        <MessageCircleQuestion size={15} aria-hidden className="shrink-0" /> {approval.tool_name} asks before it goes on:
      </p>
      <p dir="auto" className="max-h-60 overflow-y-auto whitespace-pre-wrap [overflow-wrap:anywhere]" tabIndex={asked.message.length > LONG ? 0 : undefined}>
        {asked.message}
      </p>
      {asked.url !== null && <Elsewhere address={asked.url} />}
      {reader ? (
        <p className="text-sm text-soft">Somebody with write access answers.</p>
      ) : (
        <>
          {asked.url === null && (form ? <FormFields form={form} entries={entries} wrong={wrong} disabled={busy} onChange={change} /> : <WholeAnswer schema={asked.schema} text={String(entries[0])} wrong={wrong[0]} onChange={(text) => change(0, text)} />)}
          <div className="flex flex-wrap items-center gap-2">
            <Button look="primary" type="submit" disabled={busy}>
              {asked.url !== null ? 'I have done it' : form?.length === 0 ? 'Yes, go on' : 'Answer'}
            </Button>
            <Button look="danger" disabled={busy} onClick={() => void decide({ decision: 'deny' })}>
              Decline
            </Button>
            <Button disabled={busy} onClick={() => void decide({ decision: 'dismiss' })}>
              Dismiss
            </Button>
          </div>
          <p className="text-xs text-soft">
            {asked.url === null && form?.length !== 0 && 'Your answer goes to the tool’s server. '}
            “Decline” tells the tool no. “Dismiss” closes the question without an answer, as silence does at {fullTime(approval.expires_at)}.
          </p>
        </>
      )}
      {error && (
        <p role="alert" className="text-sm [overflow-wrap:anywhere] text-bad">
          {error}
        </p>
      )}
    </form>
  );
}

const LONG = 400; // characters of a message that may scroll

// Elsewhere leads to where a person does something before the tool goes on. The host stands out: only it says whose
// place that is.
function Elsewhere({ address }: { address: string }) {
  const host = hostOf(address);
  if (host === null) return <p className="text-sm text-bad">It sends you to an address that the page does not open.</p>;
  return (
    <div className="space-y-1">
      <a href={address} target="_blank" rel="noopener noreferrer" className="inline-flex min-h-8 items-center gap-1.5 rounded-lg border border-line-strong bg-bg px-3 text-sm font-medium hover:bg-hover">
        <ExternalLink size={14} aria-hidden /> Open {host}
      </a>
      <p className="max-h-24 overflow-y-auto font-mono text-xs break-all text-soft">{address}</p>
    </div>
  );
}

function wholeOf(text: string): { answer: unknown; wrong: Record<number, string> } {
  const answer = jsonIn(text);
  const fits = typeof answer === 'object' && answer !== null && !Array.isArray(answer);
  return { answer, wrong: fits ? {} : { 0: 'Write a JSON object.' } };
}

function focusField(form: HTMLElement, at: number): void {
  form.querySelector<HTMLElement>(`[data-field="${at}"]`)?.focus();
}
