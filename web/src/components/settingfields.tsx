import { FIELD_SETTINGS, type FieldSettings } from '../api/settings';
import { Field, Input, Select } from './ui';

type Value = FieldSettings[keyof FieldSettings];

// SettingFields has a field for each setting that fits into one. An empty field is not
// set here, and shows the inherited value if it is known.
export function SettingFields({ values, wider, fixed, onChange }: { values: Partial<FieldSettings>; wider?: Partial<FieldSettings>; fixed?: boolean; onChange: (changed: Partial<FieldSettings>) => void }) {
  const set = (name: keyof FieldSettings, value: Value) => onChange({ [name]: value });
  return FIELD_SETTINGS.map(({ name, label, kind, min, max, choices }) => {
    const otherwise = wider?.[name] ?? 'default';
    return (
      <Field key={name} label={label}>
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
    );
  });
}

// fieldsOf returns those settings of an agent or a session.
export function fieldsOf(of: FieldSettings): FieldSettings {
  return Object.fromEntries(FIELD_SETTINGS.map(({ name }) => [name, of[name]])) as unknown as FieldSettings;
}
