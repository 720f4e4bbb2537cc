import { type ReactNode, useId } from 'react';
import { Payload } from '../components/payload';
import { cx, Input, Select, TextArea } from '../components/ui';
import { type Entry, type FormField, MAX_ENTRY } from './form';

interface Props {
  form: FormField[];
  entries: Entry[];
  wrong: Record<number, string | undefined>;
  disabled: boolean;
  onChange: (at: number, entry: Entry) => void;
}

// FormFields are the fields of a form, in the order of its schema.
export function FormFields({ form, entries, wrong, disabled, onChange }: Props) {
  return (
    <fieldset disabled={disabled} className="max-w-xl space-y-3">
      {form.map((field, at) => (
        <One key={at} field={field} at={at} entry={entries[at]!} wrong={wrong[at]} onChange={(entry) => onChange(at, entry)} />
      ))}
    </fieldset>
  );
}

function One({ field, at, entry, wrong, onChange }: { field: FormField; at: number; entry: Entry; wrong?: string; onChange: (entry: Entry) => void }) {
  const id = useId();
  const about = cx(field.hint && `${id}-hint`, wrong && `${id}-wrong`) || undefined;
  const has = { id, 'data-field': at, 'aria-describedby': about, 'aria-invalid': wrong ? true : undefined, 'aria-required': field.required || undefined };
  const marks = (
    <>
      {field.hint && (
        <span id={`${id}-hint`} dir="auto" className="mt-1 block text-xs whitespace-pre-wrap text-soft [overflow-wrap:anywhere]">
          {field.hint}
        </span>
      )}
      {wrong && (
        <span id={`${id}-wrong`} role="alert" className="mt-1 block text-sm text-bad">
          {wrong}
        </span>
      )}
    </>
  );
  if (field.kind === 'flag') {
    return (
      <div>
        <label className="inline-flex min-h-8 items-center gap-2 text-sm font-medium">
          <input type="checkbox" {...has} checked={entry === true} onChange={(event) => onChange(event.target.checked)} />
          <span dir="auto" className="[overflow-wrap:anywhere]">
            {field.label}
          </span>
        </label>
        {marks}
      </div>
    );
  }
  if (field.kind === 'choices') {
    const chosen = Array.isArray(entry) ? entry : [];
    return (
      <fieldset aria-describedby={about} aria-invalid={has['aria-invalid']}>
        <legend className="text-sm font-medium">
          <Name field={field} />
        </legend>
        <div className="max-h-60 overflow-y-auto">
          {field.choices.map(({ title }, place) => (
            <label key={place} className="flex min-h-8 items-center gap-2 text-sm">
              <input
                type="checkbox"
                data-field={place === 0 ? at : undefined}
                checked={chosen.includes(place)}
                onChange={(event) => onChange(event.target.checked ? [...chosen, place] : chosen.filter((one) => one !== place))}
              />
              <span dir="auto" className="[overflow-wrap:anywhere]">
                {title}
              </span>
            </label>
          ))}
        </div>
        {marks}
      </fieldset>
    );
  }
  return (
    <div>
      <label htmlFor={id} className="mb-1 block text-sm font-medium">
        <Name field={field} />
      </label>
      {control(field, entry, has, onChange)}
      {marks}
    </div>
  );
}

function Name({ field: { label, required } }: { field: FormField }) {
  return (
    <>
      <span dir="auto" className="[overflow-wrap:anywhere]">
        {label}
      </span>
      {!required && <span className="font-normal text-soft"> (optional)</span>}
    </>
  );
}

const ROOMY = 120; // characters from which a text gets several lines

function control(field: FormField, entry: Entry, has: { id: string }, onChange: (entry: Entry) => void): ReactNode {
  if (field.kind === 'choice') {
    const [chosen = ''] = Array.isArray(entry) ? entry : [];
    return (
      <Select {...has} value={chosen} onChange={(event) => onChange(event.target.value === '' ? [] : [Number(event.target.value)])}>
        <option value="">{field.required ? 'Choose…' : 'No answer'}</option>
        {field.choices.map(({ title }, place) => (
          <option key={place} value={place}>
            {title}
          </option>
        ))}
      </Select>
    );
  }
  const text = String(entry);
  const typed = { ...has, value: text, maxLength: MAX_ENTRY, autoComplete: 'off' };
  if (field.kind === 'json') return <TextArea {...typed} rows={3} placeholder="JSON" className="font-mono text-[13px]" onChange={(event) => onChange(event.target.value)} />;
  if (field.kind === 'text' && field.input === 'text' && (text.length > ROOMY || (field.max ?? 0) > ROOMY)) return <TextArea {...typed} rows={3} dir="auto" onChange={(event) => onChange(event.target.value)} />;
  return <Input {...typed} type={field.kind === 'number' ? 'text' : field.input} inputMode={field.kind === 'number' ? 'decimal' : undefined} dir="auto" onChange={(event) => onChange(event.target.value)} />;
}

// WholeAnswer takes the answer as JSON, where a schema is more than a form can show.
export function WholeAnswer({ schema, text, wrong, onChange }: { schema: unknown; text: string; wrong?: string; onChange: (text: string) => void }) {
  const id = useId();
  return (
    <div className="space-y-2">
      <p className="text-sm text-soft">It asks for more than a form can show. Answer with a JSON object that fits this schema:</p>
      <Payload name="Schema" tree text={JSON.stringify(schema, null, 2)} />
      <label htmlFor={id} className="block text-sm font-medium">
        Your answer
      </label>
      <TextArea id={id} data-field={0} rows={5} value={text} maxLength={2 * MAX_ENTRY} aria-invalid={wrong ? true : undefined} aria-describedby={wrong && `${id}-wrong`} className="font-mono text-[13px]" placeholder="{}" onChange={(event) => onChange(event.target.value)} />
      {wrong && (
        <p id={`${id}-wrong`} role="alert" className="text-sm text-bad">
          {wrong}
        </p>
      )}
    </div>
  );
}
