// The form for what a tool asks a person. Its schema comes from a stranger: whatever it says, there is a form for it, if
// need be a single field for JSON, and the server checks the answer again.

const MAX_FIELDS = 40;
const MAX_CHOICES = 200;
const MAX_LABEL = 200; // characters
const MAX_HINT = 1_000;
export const MAX_ENTRY = 32_768; // characters of a field: the whole answer may have 64 KiB

type Scalar = string | number | boolean | null;
type Json = Scalar | Json[] | { [name: string]: Json };
type Schema = Record<string, unknown>;

export interface Choice {
  title: string;
  value: Scalar;
}

// Entry is what a person has entered: a text, a yes or no, or the choices by their places.
export type Entry = string | boolean | number[];

export interface FormField {
  name: string;
  label: string;
  hint: string;
  required: boolean;
  kind: 'text' | 'number' | 'flag' | 'choice' | 'choices' | 'json';
  input: 'text' | 'email' | 'url' | 'date'; // of a text
  integer: boolean; // of a number
  min: number | null; // of a number, the length of a text, or how many choices
  max: number | null;
  choices: Choice[];
  initial: Entry;
}

// formOf reads a schema: an object whose members are simple. Anything else is null, and takes JSON.
export function formOf(schema: unknown): FormField[] | null {
  if (!isObject(schema) || ['$ref', 'allOf', 'anyOf', 'oneOf', 'not', 'if'].some((word) => word in schema)) return null;
  const members = isObject(schema.properties) ? Object.entries(schema.properties) : [];
  const required = Array.isArray(schema.required) ? schema.required : [];
  if (members.length > MAX_FIELDS || !required.every((name) => members.some(([known]) => known === name))) return null;
  // The server's JSON has members by name; what must be filled in comes first, in the order in which the schema lists it.
  const place = (name: string) => (required.indexOf(name) + 1 || Infinity) as number;
  members.sort(([a], [b]) => place(a) - place(b) || 0);
  return members.map(([name, of]) => fieldOf(name, isObject(of) ? of : {}, required.includes(name)));
}

function fieldOf(name: string, of: Schema, required: boolean): FormField {
  const field: FormField = {
    name,
    label: clip(textIn(of.title) || name, MAX_LABEL),
    hint: clip(textIn(of.description), MAX_HINT),
    required,
    kind: 'json',
    input: 'text',
    integer: false,
    min: null,
    max: null,
    choices: [],
    initial: of.default === undefined ? '' : JSON.stringify(of.default),
  };
  const choices = choicesOf(of);
  if (choices) {
    const at = choices.findIndex(({ value }) => value === of.default);
    return { ...field, kind: 'choice', choices, initial: at < 0 ? [] : [at] };
  }
  if (of.type === 'boolean') return { ...field, kind: 'flag', initial: of.default === true };
  if (of.type === 'number' || of.type === 'integer') {
    return { ...field, kind: 'number', integer: of.type === 'integer', min: numberIn(of.minimum), max: numberIn(of.maximum), initial: typeof of.default === 'number' ? String(of.default) : '' };
  }
  if (of.type === 'string') {
    const input = of.format === 'email' ? 'email' : of.format === 'uri' ? 'url' : of.format === 'date' ? 'date' : 'text';
    const hint = of.format === 'date-time' ? `${field.hint} As 2026-01-31T12:00:00Z.`.trim() : field.hint;
    return { ...field, kind: 'text', input, hint, min: numberIn(of.minLength), max: numberIn(of.maxLength), initial: clip(textIn(of.default), MAX_ENTRY) };
  }
  const several = of.type === 'array' && isObject(of.items) ? choicesOf(of.items) : null;
  if (several) {
    const wanted: unknown[] = Array.isArray(of.default) ? of.default : [];
    const initial = several.flatMap(({ value }, at) => (wanted.includes(value) ? [at] : []));
    return { ...field, kind: 'choices', choices: several, min: numberIn(of.minItems), max: numberIn(of.maxItems), initial };
  }
  return field;
}

// choicesOf returns the values of a closed list; null if it is none, or longer than a person can read.
function choicesOf(of: Schema): Choice[] | null {
  const titled = of.oneOf ?? of.anyOf;
  const values: unknown = Array.isArray(titled) ? titled.map((one) => (isObject(one) ? one.const : undefined)) : 'const' in of ? [of.const] : of.enum;
  if (!Array.isArray(values) || values.length === 0 || values.length > MAX_CHOICES || !values.every(isScalar)) return null;
  const names = Array.isArray(titled) ? titled.map((one) => (one as Schema).title) : Array.isArray(of.enumNames) ? of.enumNames : [];
  return values.map((value, at) => ({ value, title: clip(textIn(names[at]) || String(value), MAX_LABEL) }));
}

// answerOf makes the answer of what a person has entered. wrong says what they must change, by the fields' places.
export function answerOf(fields: FormField[], entries: Entry[]): { answer: { [name: string]: Json }; wrong: Record<number, string> } {
  const wrong: Record<number, string> = {};
  const members: [string, Json][] = [];
  for (const [at, field] of fields.entries()) {
    const value = valueOf(field, entries[at]!);
    if (value instanceof Wrong) wrong[at] = value.says;
    else if (value !== undefined) members.push([field.name, value]);
    else if (field.required) wrong[at] = field.kind === 'choice' ? 'Choose one.' : 'Fill this in.';
  }
  return { answer: Object.fromEntries(members), wrong };
}

class Wrong {
  constructor(readonly says: string) {}
}

// valueOf is undefined for an empty field.
function valueOf(field: FormField, entry: Entry): Json | undefined | Wrong {
  const { kind, min, max } = field;
  if (kind === 'flag') return entry === true;
  if (Array.isArray(entry)) {
    const chosen = entry.toSorted((a, b) => a - b).flatMap((at) => field.choices[at]?.value ?? (at in field.choices ? [null] : []));
    if (kind === 'choice') return entry.length === 0 ? undefined : field.choices[entry[0]!]!.value;
    if (chosen.length === 0 && !field.required) return undefined;
    if (min !== null && chosen.length < min) return new Wrong(`Choose at least ${min}.`);
    if (max !== null && chosen.length > max) return new Wrong(`Choose at most ${max}.`);
    return chosen;
  }
  const text = String(entry);
  if (text.trim() === '') return undefined;
  if (kind === 'json') return jsonIn(text) ?? new Wrong('This is not JSON.');
  if (kind === 'text') {
    const length = [...text].length;
    if (min !== null && length < min) return new Wrong(`Write at least ${min} characters.`);
    if (max !== null && length > max) return new Wrong(`Write at most ${max} characters.`);
    return text;
  }
  const value = Number(text);
  if (!Number.isFinite(value)) return new Wrong('This is not a number.');
  if (field.integer && !Number.isSafeInteger(value)) return new Wrong('Write a whole number.');
  if (min !== null && value < min) return new Wrong(`Write at least ${min}.`);
  if (max !== null && value > max) return new Wrong(`Write at most ${max}.`);
  return value;
}

// jsonIn reads JSON; undefined if a text is none.
export function jsonIn(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

// hostOf is the host that an address leads to; null for one that a person must not be sent to.
export function hostOf(address: string): string | null {
  const url = URL.canParse(address) ? new URL(address) : null;
  return url && (url.protocol === 'https:' || url.protocol === 'http:') ? url.host : null;
}

const isObject = (value: unknown): value is Schema => typeof value === 'object' && value !== null && !Array.isArray(value);
const isScalar = (value: unknown): value is Scalar => value === null || ['string', 'number', 'boolean'].includes(typeof value);
const textIn = (value: unknown) => (typeof value === 'string' ? value : '');
const numberIn = (value: unknown) => (typeof value === 'number' ? value : null);
const clip = (text: string, most: number) => (text.length > most ? `${text.slice(0, most)}…` : text);
