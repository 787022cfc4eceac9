/** The query of an admin call: only the parameters of its row, each once, each of its kind. */
import { fail, type Nanos, parseNanos } from '../core/index.ts';
import type { AdminParameter } from '../rules/index.ts';

const USUAL_PAGE = 100;
const MAX_PAGE = 1_000;
const MAX_CHARS = 512;
const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d))?$/;

export class Query {
  readonly #values = new Map<string, string>();

  constructor(text: string, known: readonly AdminParameter[]) {
    for (const [name, value] of new URLSearchParams(text)) {
      if (!known.some((own) => own === name))
        throw refused(
          name.slice(0, 40),
          known.length > 0 ? `no such parameter; there are ${known.join(', ')}` : 'no such parameter',
        );
      if (this.#values.has(name)) throw refused(name, 'given twice, expected once');
      if (value.length > MAX_CHARS || /\p{Cc}/u.test(value)) throw refused(name, 'too long, or not text');
      this.#values.set(name, value);
    }
  }

  text(name: AdminParameter): string | undefined {
    return this.#values.get(name) || undefined;
  }

  flag(name: AdminParameter): boolean {
    return this.oneOf(name, ['true', 'false']) === 'true';
  }

  oneOf<T extends string>(name: AdminParameter, values: readonly T[]): T | undefined {
    const text = this.text(name);
    const value = values.find((own) => own === text);
    if (text !== undefined && value === undefined)
      throw refused(name, `found "${text.slice(0, 40)}", expected ${values.join(' or ')}`);
    return value;
  }

  /** Comma-separated, each at most once. */
  someOf<T extends string>(name: AdminParameter, values: readonly T[]): T[] | undefined {
    const parts = this.text(name)?.split(',');
    return parts?.map((part, n) => {
      const value = values.find((own) => own === part.trim());
      if (value === undefined || parts.indexOf(part) !== n)
        throw refused(name, `found "${part.slice(0, 40)}", expected some of ${values.join(', ')}, each once`);
      return value;
    });
  }

  /** A day is its midnight in UTC. */
  time(name: AdminParameter): Date | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const at = TIME.test(text) ? new Date(text) : undefined;
    if (!at || Number.isNaN(at.getTime()))
      throw refused(name, `found "${text.slice(0, 40)}", expected a time such as 2030-01-31T00:00:00Z`);
    return at;
  }

  money(name: AdminParameter): Nanos | undefined {
    const text = this.text(name);
    const nanos = text === undefined ? undefined : parseNanos(text);
    // Beyond this a bigint column cannot be compared with it.
    if (text !== undefined && (nanos === undefined || nanos > 10n ** 18n || nanos < -(10n ** 18n)))
      throw refused(name, `found "${text.slice(0, 40)}", expected a decimal amount such as 1.25`);
    return nanos;
  }

  get limit(): number {
    const text = this.text('limit');
    const size = text === undefined ? USUAL_PAGE : /^\d{1,4}$/.test(text) ? Number(text) : 0;
    if (size < 1 || size > MAX_PAGE) throw refused('limit', `expected a whole number from 1 to ${MAX_PAGE}`);
    return size;
  }

  /** What `cursorOf` was given for the last line of the page before. */
  cursor(length: number): string[] | undefined {
    const text = this.text('cursor');
    if (text === undefined) return undefined;
    try {
      const values: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
      if (Array.isArray(values) && values.length === length && values.every(isStorable)) return values;
    } catch {
      // Said below.
    }
    throw refused('cursor', 'expected the next_cursor of a page of this list');
  }

  /** A cursor of one number. */
  idCursor(): bigint | undefined {
    const [text] = this.cursor(1) ?? [];
    if (text === undefined) return undefined;
    if (!/^\d{1,18}$/.test(text)) throw refused('cursor', 'expected the next_cursor of a page of this list');
    return BigInt(text);
  }
}

/** PostgreSQL takes no zero character, not even to compare with. */
const isStorable = (value: unknown): value is string => typeof value === 'string' && !value.includes('\0');

export const cursorOf = (values: readonly (string | number | bigint)[]): string =>
  Buffer.from(JSON.stringify(values.map(String))).toString('base64url');

const refused = (param: string, sentence: string) => fail('invalid_value', `${param}: ${sentence}.`, { param });
