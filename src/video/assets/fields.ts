/** Bodies of create requests for assets and groups (V 4): parsed strictly, and read by the table of their fields. */
import { fail, JsonScanError, publicUrl } from '../../core/index.ts';
import { type AssetField, FILE_ID } from '../../rules/index.ts';
import { problemOf } from '../request/content.ts';
import { fingerprintOf } from '../request/fingerprint.ts';
import { isText, type JsonMembers, type JsonNode, parseTaskBody, shortName } from '../request/json-tree.ts';
import { alternatives, invalidField } from '../request/task-request.ts';

/** Only the form of the body is checked: a replay comes before its fields. */
export function parseAssetBody(operation: string, bytes: Buffer) {
  try {
    const members = parseTaskBody(Buffer.from(bytes));
    return { members, fingerprint: Buffer.from(fingerprintOf(operation, members), 'hex') };
  } catch (error) {
    throw error instanceof JsonScanError ? fail('invalid_request', error.message) : error;
  }
}

type Origins = readonly string[];
type Fields = Readonly<Record<string, AssetField>>;
export type FieldValues<T extends Fields> = {
  readonly [K in keyof T]: T[K] extends { isRequired: true } ? string : string | undefined;
};

/** `model` alone: it is checked before the other fields. */
export function readModel(members: JsonMembers, rule: AssetField): string | undefined {
  const node = members.get('model');
  return node === undefined ? undefined : checkField(node, 'model', rule, []);
}

export function readFields<T extends Fields>(members: JsonMembers, table: T, allowed: Origins): FieldValues<T> {
  for (const name of members.keys())
    if (!Object.hasOwn(table, name)) throw invalidField(shortName(name), 'unknown', 'remove it');
  const values = Object.entries<AssetField>(table).map(([name, rule]) => {
    const node = members.get(name);
    if (node === undefined && rule.isRequired) throw invalidField(name, 'missing', `send the ${rule.about}`);
    return [name, node === undefined ? undefined : checkField(node, name, rule, allowed)];
  });
  return Object.fromEntries(values);
}

function checkField(node: JsonNode, param: string, rule: AssetField, allowed: Origins): string {
  const { about, chars, words, form } = rule;
  if (!isText(node)) throw invalidField(param, 'not a string', `send the ${about}`);
  const text = String(node);
  if (text.includes('\0')) throw invalidField(param, 'contains a NUL character', 'remove it');
  if (words && !words.includes(text)) throw invalidField(param, 'not a known value', `send ${alternatives(words)}`);
  if (form === 'media' && FILE_ID.pattern.test(text)) return text;
  if (form) return checkUrl(text, param, allowed);
  if (chars) {
    const { length } = [...text];
    if (length < chars.min || length > chars.max)
      throw invalidField(param, `has ${length} characters`, `send ${chars.min} to ${chars.max}`);
  }
  return text;
}

function checkUrl(text: string, param: string, allowedOrigins: Origins): string {
  const url = publicUrl(text, allowedOrigins);
  if (url instanceof URL) return url.href;
  throw invalidField(
    param,
    problemOf(url.message),
    'send a public HTTPS URL of the file, or the id of a file that you uploaded',
  );
}
