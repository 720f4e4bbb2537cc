import { FIELD_SETTINGS, type FieldSettings } from '../api/settings';
import { Problem } from '../api/http';
import { Wrong } from './policyfields';
import { Field, Input, Select } from './ui';

type Value = FieldSettings[keyof FieldSettings];

// SettingFields has a field for each setting that fits into one. An empty field is not
// set here, and shows the inherited value if it is known.
export function SettingFields({ values, wider, fixed, wrong, onChange }: { values: Partial<FieldSettings>; wider?: Partial<FieldSettings>; fixed?: boolean; wrong: Record<string, string>; onChange: (changed: Partial<FieldSettings>) => void }) {
  const set = (name: keyof FieldSettings, value: Value) => onChange({ [name]: value });
  return FIELD_SETTINGS.map(({ name, label, kind, min, max, choices }) => {
    const otherwise = wider?.[name] ?? 'default';
    return (
      <div key={name}>
        <Field label={label}>
          {choices ? (
            <Select value={values[name] ?? ''} disabled={fixed} onChange={(event) => set(name, (event.target.value || null) as Value)}>
              <option value="">{otherwise}</option>
              {choices.map((choice) => (
                <option key={choice}>{choice}</option>
              ))}
            </Select>
          ) : (
            <Input
              type="number"
              readOnly={fixed}
              step={kind === 'integer' ? 1 : 'any'}
              min={min}
              max={max}
              value={values[name] ?? ''}
              placeholder={String(otherwise)}
              onChange={(event) => set(name, event.target.value === '' ? null : Number(event.target.value))}
            />
          )}
        </Field>
        <Wrong says={wrong[name]} />
      </div>
    );
  });
}

// wrongIn returns what a refusal says of each field; empty if one of them has no field in the form.
export function wrongIn(failure: unknown): Record<string, string> {
  const fields = failure instanceof Problem ? failure.fields : [];
  const shown = fields.every(({ field }) => field.startsWith('context_policy') || FIELD_SETTINGS.some(({ name }) => name === field));
  return shown ? Object.fromEntries(fields.map(({ field, message }) => [field, message])) : {};
}

// fieldsOf returns those settings of an agent or a session.
export function fieldsOf(of: FieldSettings): FieldSettings {
  return Object.fromEntries(FIELD_SETTINGS.map(({ name }) => [name, of[name]])) as unknown as FieldSettings;
}
