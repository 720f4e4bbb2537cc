import type { Json } from '../components/json';

const DEEPEST = 100; // levels: deeper JSON is not followed

type Expects = 'value' | 'item' | 'name' | 'colon' | 'comma' | 'nothing'; // item: a value or the end of the list
interface Level {
  value: Json;
  name: string; // of the member being read
}

// Growing reads JSON while it is written. Its value has the unfinished text with what there is of it; unfinished names,
// numbers and words are held back. What does not change from one read to the next keeps its identity.
export class Growing {
  value: unknown = undefined;
  failed = false; // it is not JSON: the value stays as it was

  private text = '';
  private at = 0;
  private expects: Expects = 'value';
  private levels: Level[] = [];
  private said: string | null = null; // of the unfinished text or name

  // read takes the text as far as it is known now, and returns the value.
  read(text: string): unknown {
    if (!text.startsWith(this.text)) this.restart();
    if (text.length === this.text.length || this.failed) return this.value;
    this.text = text;
    this.fresh();
    while (this.at < text.length && !this.failed && this.step(text));
    return this.value;
  }

  private restart(): void {
    Object.assign(this, { value: undefined, failed: false, text: '', at: 0, expects: 'value', levels: [], said: null });
  }

  // fresh copies the open levels, which change now.
  private fresh(): void {
    this.levels.forEach((level, i) => {
      level.value = Array.isArray(level.value) ? [...level.value] : { ...level.value };
      if (i === 0) this.value = level.value;
      else set(this.levels[i - 1]!, level.value);
    });
  }

  // step reads the next piece; false if it is not complete.
  private step(text: string): boolean {
    if (this.said !== null) return this.string(text);
    const char = text[this.at]!;
    if (/\s/.test(char)) return this.past(1);
    const top = this.levels.at(-1);
    switch (this.expects) {
      case 'name':
        if (char === '}') return this.close();
        return char === '"' ? this.begin() : this.fail();
      case 'colon':
        return char === ':' ? this.past(1, 'value') : this.fail();
      case 'comma':
        if (char === ',') return this.past(1, Array.isArray(top!.value) ? 'value' : 'name');
        return char === (Array.isArray(top!.value) ? ']' : '}') ? this.close() : this.fail();
      case 'item':
        if (char === ']') return this.close();
        break;
      case 'nothing':
        return this.fail();
      case 'value':
    }
    if (top && Array.isArray(top.value)) top.name = String(top.value.length);
    if (char === '"') {
      this.put('');
      return this.begin();
    }
    if (char === '{') return this.open({}, 'name');
    if (char === '[') return this.open([], 'item');
    const word = /[-+.\w]+/y;
    word.lastIndex = this.at;
    const [found] = word.exec(text) ?? [''];
    if (found === '') return this.fail();
    if (this.at + found.length === text.length) return false; // more may follow
    try {
      this.put(JSON.parse(found));
    } catch {
      return this.fail();
    }
    return this.past(found.length, this.ended());
  }

  private string(text: string): boolean {
    const names = this.expects === 'name';
    const stop = /["\\]/g;
    stop.lastIndex = this.at;
    const end = stop.exec(text)?.index ?? text.length;
    this.said += text.slice(this.at, end);
    this.at = end;
    if (!names) this.put(this.said);
    if (end === text.length) return false;
    if (text[end] === '"') {
      if (names) this.levels.at(-1)!.name = this.said!;
      this.said = null;
      return this.past(1, names ? 'colon' : this.ended());
    }
    const length = text[end + 1] === 'u' ? 6 : 2;
    if (end + length > text.length) return false;
    try {
      this.said += JSON.parse(`"${text.slice(end, end + length)}"`) as string;
    } catch {
      return this.fail();
    }
    return this.past(length);
  }

  private ended(): Expects {
    return this.levels.length > 0 ? 'comma' : 'nothing';
  }

  private begin(): boolean {
    this.said = '';
    return this.past(1);
  }

  private open(value: Json, expects: Expects): boolean {
    if (this.levels.length === DEEPEST) return this.fail();
    this.put(value);
    this.levels.push({ value, name: '' });
    return this.past(1, expects);
  }

  private close(): boolean {
    this.levels.pop();
    return this.past(1, this.ended());
  }

  private put(value: unknown): void {
    const top = this.levels.at(-1);
    if (top) set(top, value);
    else this.value = value;
  }

  private past(length: number, expects: Expects = this.expects): boolean {
    this.at += length;
    this.expects = expects;
    return true;
  }

  private fail(): boolean {
    this.failed = true;
    return false;
  }
}

// set writes a member: never through a setter, which __proto__ has.
function set({ value, name }: Level, to: unknown): void {
  Object.defineProperty(value, name, { value: to, writable: true, enumerable: true, configurable: true });
}
