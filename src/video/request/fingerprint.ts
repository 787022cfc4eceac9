/** Fingerprint of a parsed body, by which an Idempotency-Key recognises the same request (V 8). */
import { createHash, type Hash } from 'node:crypto';
import { type JsonMembers, type JsonNode, LongText } from './json-tree.ts';

/** Changes when the canonical form changes, so that old and new fingerprints cannot be confused. */
const VERSION = Uint8Array.of(1);
const FLUSH_CHARS = 16_384;

/**
 * SHA-256 of version, entry and canonical JSON: sorted keys, no white space, one spelling for each value.
 * Nothing is filled in, so absent and false differ.
 */
export function fingerprintOf(entry: string, body: JsonMembers): string {
  const writer = new CanonicalWriter(createHash('sha256').update(VERSION).update(`${entry}\n`));
  writer.value(body);
  return writer.digest();
}

class CanonicalWriter {
  readonly #hash: Hash;
  #pending = '';

  constructor(hash: Hash) {
    this.#hash = hash;
  }

  value(node: JsonNode): void {
    if (node instanceof LongText) for (const piece of node.canonical()) this.#add(piece);
    else if (node instanceof Map) this.#object(node);
    else if (Array.isArray(node)) this.#array(node);
    else this.#add(scalarText(node));
  }

  digest(): string {
    return this.#hash.update(this.#pending).digest('hex');
  }

  #object(members: JsonMembers): void {
    this.#add('{');
    for (const [n, name] of [...members.keys()].sort().entries()) {
      this.#add(`${n === 0 ? '' : ','}${JSON.stringify(name)}:`);
      this.value(members.get(name) ?? null);
    }
    this.#add('}');
  }

  #array(elements: readonly JsonNode[]): void {
    this.#add('[');
    for (const [n, element] of elements.entries()) {
      if (n > 0) this.#add(',');
      this.value(element);
    }
    this.#add(']');
  }

  #add(piece: string | Uint8Array): void {
    if (typeof piece === 'string') this.#pending += piece;
    if (typeof piece === 'string' && this.#pending.length < FLUSH_CHARS) return;
    this.#hash.update(this.#pending);
    this.#pending = '';
    if (typeof piece !== 'string') this.#hash.update(piece);
  }
}

/** `1e999` parses to Infinity, which JSON cannot write. */
const scalarText = (value: unknown): string =>
  typeof value === 'number' && !Number.isFinite(value) ? String(value) : JSON.stringify(value);
