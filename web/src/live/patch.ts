import type { PatchOperation } from '../api/events';
import { isJson, type Json } from '../components/json';
import { wayOf } from '../components/pointer';

// patched applies the operations of a JSON Patch, and append, to a value. It copies only the levels above a change: all
// else keeps its identity, so that only what changed is drawn again. An operation that does not apply throws RangeError.
export function patched(value: unknown, operations: PatchOperation[]): unknown {
  for (const operation of operations) value = applied(value, operation);
  return value;
}

function applied(value: unknown, { op, path, from = '', value: to }: PatchOperation): unknown {
  const way = wayOf(path);
  switch (op) {
    case 'add':
    case 'replace':
    case 'remove':
      return put(value, way, op, to);
    case 'append':
      return put(value, way, 'replace', `${String(valueAt(value, way))}${String(to)}`);
    case 'copy':
      return put(value, way, 'add', valueAt(value, wayOf(from)));
    case 'move':
      return put(put(value, wayOf(from), 'remove'), way, 'add', valueAt(value, wayOf(from)));
    case 'test':
      return value;
  }
}

// valueAt is the value at the end of a way.
export function valueAt(value: unknown, way: string[]): unknown {
  for (const name of way) {
    if (!isJson(value) || !Object.hasOwn(value, name)) throw new RangeError(`there is no ${name}`);
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

function put(value: unknown, way: string[], op: 'add' | 'replace' | 'remove', to?: unknown): unknown {
  const [name, ...rest] = way;
  if (name === undefined) return to;
  if (!isJson(value)) throw new RangeError(`there is nothing below ${name}`);
  const known = Object.hasOwn(value, name);
  if (!known && (rest.length > 0 || op !== 'add')) throw new RangeError(`there is no ${name}`);
  if (Array.isArray(value)) {
    const at = name === '-' ? value.length : Number(name);
    if (!Number.isInteger(at) || at < 0 || at > value.length) throw new RangeError(`there is no ${name}`);
    if (rest.length > 0) return value.with(at, put(value[at], rest, op, to));
    return op === 'replace' ? value.with(at, to) : op === 'add' ? value.toSpliced(at, 0, to) : value.toSpliced(at, 1);
  }
  if (op === 'remove' && rest.length === 0) {
    const { [name]: _, ...others } = value;
    return others;
  }
  return { ...value, [name]: rest.length > 0 ? put(value[name], rest, op, to) : to };
}

// shared is a value like now in which every part that before has, too, is that of before.
export function shared(before: unknown, now: unknown): unknown {
  if (Object.is(before, now)) return before;
  if (!isJson(before) || !isJson(now) || Array.isArray(before) !== Array.isArray(now)) return now;
  const old = before as Record<string, unknown>;
  const entries = Object.entries(now).map(([name, one]): [string, unknown] => [name, shared(Object.hasOwn(old, name) ? old[name] : undefined, one)]);
  const names = Object.keys(before);
  if (names.length === entries.length && entries.every(([name, one], i) => names[i] === name && Object.is(one, old[name]))) return before;
  return Array.isArray(now) ? entries.map(([, one]) => one) : (Object.fromEntries(entries) as Json);
}
