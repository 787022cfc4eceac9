/**
 * Values as a message for another thread: JSON text, a fifth of the time of a
 * structured copy and exact, beside which long strings are copied as they are.
 */
import { randomUUID } from 'node:crypto';
import { types } from 'node:util';
import { isExactNumber, parseExact } from './exact-json.ts';

export interface PackedJson {
  readonly text: string;
  /** The text holds numbers or names that only the exact parser keeps. It takes longer. */
  readonly isExact: boolean;
  /** In the text stands the mark and an index. */
  readonly longStrings: readonly string[];
  readonly mark: string;
}

/** Below, finding a string again costs more than parsing it. */
const LONG_CHARS = 1_024;
/** Random, so that no client can write it. */
const MARK = randomUUID();
const MARKED_CHARS = MARK.length + 8;

export function packJson(value: unknown): PackedJson {
  const packer = new Packer();
  const text = JSON.stringify(packer.pack(value));
  return { text, isExact: packer.isExact, longStrings: packer.longStrings, mark: MARK };
}

export function unpackJson({ text, isExact, longStrings, mark }: PackedJson): unknown {
  const value = (isExact ? parseExact(text) : undefined) ?? JSON.parse(text);
  return longStrings.length === 0 ? value : unpack(value, mark, longStrings);
}

/** Copies only the containers that hold a long string. */
class Packer {
  isExact = false;
  readonly longStrings: string[] = [];

  pack(value: unknown): unknown {
    if (typeof value === 'string') return value.length < LONG_CHARS ? value : this.#mark(value);
    if (typeof value !== 'object' || value === null) return value;
    if (types.isProxy(value) || isExactNumber(value)) {
      this.isExact = true;
      return value;
    }
    return Array.isArray(value) ? this.#packList(value) : this.#packObject(value as Record<string, unknown>);
  }

  #mark(text: string): string {
    return `${MARK}${String(this.longStrings.push(text) - 1).padStart(8, '0')}`;
  }

  #packList(list: readonly unknown[]): readonly unknown[] {
    let copy: unknown[] | undefined;
    for (let n = 0; n < list.length; n += 1) {
      const packed = this.pack(list[n]);
      if (packed === list[n]) continue;
      copy ??= [...list];
      copy[n] = packed;
    }
    return copy ?? list;
  }

  #packObject(object: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    let copy: Record<string, unknown> | undefined;
    for (const name of Object.keys(object)) {
      const packed = this.pack(object[name]);
      if (packed === object[name]) continue;
      copy ??= { ...object };
      copy[name] = packed;
    }
    return copy ?? object;
  }
}

/** Changes the value, which was just parsed. */
function unpack(value: unknown, mark: string, longStrings: readonly string[]): unknown {
  if (typeof value === 'string')
    return value.length === MARKED_CHARS && value.startsWith(mark)
      ? longStrings[Number(value.slice(mark.length))]
      : value;
  if (typeof value !== 'object' || value === null || isExactNumber(value)) return value;
  const container = value as Record<string, unknown>;
  for (const name of Object.keys(container)) {
    const unpacked = unpack(container[name], mark, longStrings);
    if (unpacked !== container[name]) container[name] = unpacked;
  }
  return value;
}
