import { context_policy, type MemberForm } from '../api/variants';
import type { Policy } from '../api/types';
import { Field, Input, Select } from './ui';

type Member = 'limit' | 'tokens' | 'recall';

interface Props {
  value: Policy | null; // null: not set here
  wider?: Policy | null; // what holds then; undefined where nothing is wider
  fixed?: boolean;
  wrong: Record<string, string>; // what the server refused, by field
  onChange: (policy: Policy | null) => void;
}

const { label, doc, variants } = context_policy;
const formOf = (policy: Policy | null | undefined) => variants.find(({ kind }) => kind === policy?.kind);

// PolicyFields are a choice of the rule by which a call's messages are chosen, in words, and fields for its parts.
export function PolicyFields({ value, wider, fixed, wrong, onChange }: Props) {
  const chosen = formOf(value);
  const inherited = formOf(wider);
  const choose = (kind: string) => {
    const next = variants.find((one) => one.kind === kind);
    const parts = Object.fromEntries((next?.members ?? []).map(({ name, otherwise, needed }) => [name, needed ? Number(otherwise) : null]));
    onChange(next ? ({ kind, limit: null, tokens: null, recall: null, ...parts } as Policy) : null);
  };
  return (
    <fieldset className="space-y-3" data-policy>
      <Field label={label} hint={(chosen ?? inherited)?.doc ?? doc}>
        <Select value={value?.kind ?? ''} disabled={fixed} onChange={(event) => choose(event.target.value)}>
          <option value="">{inherited ? `${inherited.label} (the agent’s)` : 'default'}</option>
          {variants.map((one) => (
            <option key={one.kind} value={one.kind}>
              {one.label}
            </option>
          ))}
        </Select>
      </Field>
      <Wrong says={wrong['context_policy'] ?? wrong['context_policy.kind']} />
      {value && chosen && chosen.members.length > 0 && (
        <div className="grid gap-4 sm:grid-cols-2">
          {chosen.members.map((member) => (
            <MemberField key={member.name} member={member} value={value} fixed={fixed} says={wrong[`context_policy.${member.name}`]} onChange={onChange} />
          ))}
        </div>
      )}
    </fieldset>
  );
}

function MemberField({ member, value, fixed, says, onChange }: { member: MemberForm; value: Policy; fixed?: boolean; says?: string; onChange: (policy: Policy) => void }) {
  const name = member.name as Member;
  const set = (next: number | boolean | null) => onChange({ ...value, [name]: next });
  if (member.kind === 'switch') {
    return (
      <label className="flex items-center gap-2 self-end pb-2 text-sm">
        <input type="checkbox" disabled={fixed} checked={value[name] !== false} onChange={(event) => set(event.target.checked ? null : false)} />
        {member.label}
      </label>
    );
  }
  return (
    <div>
      <Field label={member.label}>
        <Input
          type="number"
          readOnly={fixed}
          step={1}
          min={member.min}
          max={member.max}
          required={member.needed}
          aria-invalid={says !== undefined}
          value={(value[name] as number | null) ?? ''}
          placeholder={member.otherwise}
          onChange={(event) => set(event.target.value === '' ? null : Number(event.target.value))}
        />
      </Field>
      <Wrong says={says} />
    </div>
  );
}

// Wrong says at a field what the server refused.
export function Wrong({ says }: { says?: string }) {
  return says ? (
    <p role="alert" className="mt-1 text-xs text-bad">
      {says}
    </p>
  ) : null;
}
