import { expect, test } from 'vitest';
import { answerOf, type Entry, formOf, hostOf } from './form';

const SCHEMA = {
  type: 'object',
  required: ['name', 'kind', 'count'],
  properties: {
    name: { type: 'string', title: 'Name', description: 'Of the place', minLength: 2, maxLength: 4 },
    kind: { type: 'string', enum: ['test', 'live'], enumNames: ['A test', 'The real one'] },
    count: { type: 'integer', minimum: 1, maximum: 9 },
    mail: { type: 'string', format: 'email' },
    size: { oneOf: [{ const: 1, title: 'Small' }, { const: 2, title: 'Large' }], default: 2 },
    rate: { type: 'number', default: 0.5 },
    sure: { type: 'boolean', default: true },
    parts: { type: 'array', items: { type: 'string', enum: ['a', 'b', 'c'] }, maxItems: 2, default: ['c', 'a'] },
    deep: { type: 'object', properties: { x: {} } },
  },
};

const form = formOf(SCHEMA)!;
const initial = form.map((field) => field.initial);
const withEntries = (changes: Record<string, Entry>) => form.map((field, at) => changes[field.name] ?? initial[at]!);

test('a schema becomes fields with their labels, hints, bounds and defaults', () => {
  expect(form.map(({ kind }) => kind)).toEqual(['text', 'choice', 'number', 'text', 'choice', 'number', 'flag', 'choices', 'json']);
  expect(form[0]).toMatchObject({ label: 'Name', hint: 'Of the place', required: true, min: 2, max: 4 });
  expect(form[3]).toMatchObject({ label: 'mail', input: 'email', required: false });
  expect(form[1]!.choices).toEqual([{ value: 'test', title: 'A test' }, { value: 'live', title: 'The real one' }]);
  expect(initial).toEqual(['', [], '', '', [1], '0.5', true, [0, 2], '']);
});

test('what is required comes first, in the order of its list', () => {
  const member = { type: 'string' };
  expect(formOf({ properties: { a: member, b: member, c: member, d: member }, required: ['d', 'b'] })!.map(({ name }) => name)).toEqual(['d', 'b', 'a', 'c']);
});

test('what is entered becomes the answer, and what is empty is left out', () => {
  const { answer, wrong } = answerOf(form, withEntries({ name: 'Lamp', kind: [1], count: '3', deep: '{"x":[1]}', sure: false }));
  expect(wrong).toEqual({});
  expect(answer).toEqual({ name: 'Lamp', kind: 'live', size: 2, count: 3, rate: 0.5, sure: false, parts: ['a', 'c'], deep: { x: [1] } });
});

test.each([
  ['a missing text', {}, 0, 'Fill this in.'],
  ['a missing choice', {}, 1, 'Choose one.'],
  ['a short text', { name: 'x' }, 0, 'Write at least 2 characters.'],
  ['a long text', { name: 'xxxxx' }, 0, 'Write at most 4 characters.'],
  ['four characters that are eight units', { name: '🙂🙂🙂🙂' }, 0, undefined],
  ['half a number', { count: '1.5' }, 2, 'Write a whole number.'],
  ['more than a number can say', { count: '9007199254740993' }, 2, 'Write a whole number.'],
  ['no number', { count: 'many' }, 2, 'This is not a number.'],
  ['a small number', { count: '0' }, 2, 'Write at least 1.'],
  ['too many choices', { parts: [0, 1, 2] }, 7, 'Choose at most 2.'],
  ['no JSON', { deep: '{' }, 8, 'This is not JSON.'],
] as [string, Record<string, Entry>, number, string | undefined][])('%s', (_, entries, at, says) => {
  expect(answerOf(form, withEntries(entries)).wrong[at]).toBe(says);
});

test.each([
  ['nothing', undefined],
  ['a list', []],
  ['alternatives', { anyOf: [{}] }],
  ['a reference', { $ref: '#' }],
  ['a member that is required and unknown', { properties: {}, required: ['x'] }],
  ['more members than a form has room for', { properties: Object.fromEntries(Array.from({ length: 41 }, (_, i) => [`m${i}`, { type: 'string' }])) }],
])('%s takes JSON as a whole', (_, schema) => {
  expect(formOf(schema)).toBeNull();
});

test.each([
  [{ type: 'string', title: 7, description: {}, minLength: '1', default: [] }],
  [{ enum: Array.from({ length: 201 }, (_, i) => i) }],
  [{ enum: [{}, []] }],
  [{ oneOf: [null, 3, { title: 'x' }] }],
  [{ type: ['string', 'null'], items: null }],
  [{ type: 'array', items: { enum: [] } }],
  [null],
  [true],
])('a member %j has some field', (member) => {
  const fields = formOf({ properties: { x: member }, required: 'x' })!;
  expect(fields).toHaveLength(1);
  expect(fields[0]!.choices.length).toBeLessThanOrEqual(200);
  expect(() => answerOf(fields, [fields[0]!.initial])).not.toThrow();
});

test('long names and lists are cut', () => {
  const [field] = formOf({ properties: { [`x${'y'.repeat(9_999)}`]: { type: 'string', description: 'z'.repeat(99_999), default: 'd'.repeat(99_999) } } })!;
  expect([field!.label.length, field!.hint.length, String(field!.initial).length]).toEqual([201, 1_001, 32_769]);
});

test('no name of a member reaches a prototype', () => {
  const fields = formOf(JSON.parse('{"properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}}'))!;
  const { answer } = answerOf(fields, ['a', 'b']);
  expect(JSON.stringify(answer)).toBe('{"__proto__":"a","constructor":"b"}');
  expect(Object.getPrototypeOf(answer)).toBe(Object.prototype);
});

test.each([
  ['https://example.com/a?b', 'example.com'],
  ['http://127.0.0.1:8080/', '127.0.0.1:8080'],
  ['https://good.example@evil.example/', 'evil.example'],
  ['https://exаmple.com/', 'xn--exmple-4nf.com'], // its a is Cyrillic
  ['javascript:alert(1)', null],
  ['data:text/html,x', null],
  ['nowhere', null],
])('%s leads to %s', (address, host) => {
  expect(hostOf(address)).toBe(host);
});
