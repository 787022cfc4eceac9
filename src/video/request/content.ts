/**
 * Content items of a task request (V 4.1): shape, role and address of each one. Their combination is checked elsewhere.
 */
import { publicUrl } from '../../core/index.ts';
import * as rules from '../../rules/index.ts';
import type { AudioLength } from './audio.ts';
import { checkAudio, checkImage, isDataUrl } from './data-url.ts';
import { isText, type JsonMembers, type JsonNode, type JsonText, shortName } from './json-tree.ts';
import { alternatives, invalidField, type TaskTarget, unsupportedField } from './task-request.ts';

/** An item with a valid shape, whose address is not checked yet. `param` is the path of the text or address. */
export type ItemShape = { readonly type: 'text'; readonly param: string; readonly text: JsonText } | MediaShape;
export interface MediaShape {
  readonly type: rules.MediaItemType;
  readonly param: string;
  readonly url: JsonText;
  /** Path of the role, for errors about combinations. */
  readonly roleParam: string;
  readonly role: rules.MediaRole | undefined;
}

export type CheckedItem = Extract<ItemShape, { type: 'text' }> | CheckedMedia;
export interface CheckedMedia extends MediaShape {
  readonly rule: rules.MediaItemRule;
  readonly address: Address;
}
export type Address =
  | { readonly form: 'https'; readonly url: string }
  | { readonly form: 'file'; readonly id: string }
  /** Undefined when malformed; reported after all items are checked. */
  | { readonly form: 'reference'; readonly reference: rules.ParsedReference | undefined }
  | { readonly form: 'data'; readonly length: AudioLength | undefined };

/** Checks the number of items; `others` is the number of items that the entry adds. */
export function contentNodes(content: JsonNode | undefined, others = 0): readonly JsonNode[] {
  const { min, max } = rules.CONTENT_ITEMS;
  if (!Array.isArray(content))
    throw invalidField(
      'content',
      content === undefined ? 'missing' : 'not an array',
      `send an array of ${min} to ${max} items`,
    );
  if (content.length < min || content.length + others > max)
    throw invalidField('content', `has ${content.length} items`, `send ${min} to ${max - others} items`);
  return content;
}

export function readItem(node: JsonNode, index: number): ItemShape {
  const param = `content[${index}]`;
  if (!(node instanceof Map)) throw invalidField(param, 'not an object', 'send an object with type');
  const item: JsonMembers = node;
  const type = item.get('type');
  if (type !== rules.TEXT_ITEM && !isMediaType(type))
    throw invalidField(
      `${param}.type`,
      type === undefined ? 'missing' : 'not a known type',
      `send ${alternatives([rules.TEXT_ITEM, ...Object.keys(rules.MEDIA_ITEMS)])}`,
    );
  rejectOthers(item, param, ['type', 'role', type]);
  return type === rules.TEXT_ITEM ? readText(item, param) : readMedia(item, param, type);
}

const isMediaType = (type: JsonNode | undefined): type is rules.MediaItemType =>
  typeof type === 'string' && Object.hasOwn(rules.MEDIA_ITEMS, type);

/** The payload of another type counts as unknown, too (V 4.1). */
function rejectOthers(object: JsonMembers, param: string, known: readonly string[]): void {
  for (const name of object.keys())
    if (!known.includes(name))
      throw invalidField(`${param}.${shortName(name)}`, 'not a field of this item', 'remove it');
}

function readText(item: JsonMembers, param: string): ItemShape {
  const text = requireText(item.get('text'), `${param}.text`);
  if (item.has('role')) throw unsupportedField(`${param}.role`, 'a text item has no role', 'remove it');
  return { type: 'text', param: `${param}.text`, text };
}

/** A string that is not empty. */
export function requireText(node: JsonNode | undefined, param: string): JsonText {
  if (!isText(node)) throw invalidField(param, node === undefined ? 'missing' : 'not a string', 'send a string');
  if (node === '') throw invalidField(param, 'empty', 'send a text');
  return node;
}

function readMedia(item: JsonMembers, param: string, type: rules.MediaItemType): MediaShape {
  const payload = item.get(type);
  const payloadParam = `${param}.${type}`;
  if (!(payload instanceof Map))
    throw invalidField(payloadParam, payload === undefined ? 'missing' : 'not an object', 'send an object with url');
  rejectOthers(payload, payloadParam, ['url']);
  const url: JsonNode | undefined = payload.get('url');
  if (!isText(url))
    throw invalidField(`${payloadParam}.url`, url === undefined ? 'missing' : 'not a string', 'send a string');
  const roleParam = `${param}.role`;
  return { type, param: `${payloadParam}.url`, url, roleParam, role: readRole(item, roleParam, type) };
}

function readRole(item: JsonMembers, param: string, type: rules.MediaItemType): rules.MediaRole | undefined {
  const { roles, loneRole }: rules.MediaItemRule = rules.MEDIA_ITEMS[type];
  const role = item.get('role');
  if (role === undefined) {
    if (loneRole) return undefined;
    throw invalidField(param, 'missing', `send ${alternatives(roles)}`);
  }
  if (!isText(role)) throw invalidField(param, 'not a string', `send ${alternatives(roles)}`);
  const known = roles.find((word) => word === role);
  if (!known) throw unsupportedField(param, `not a role of ${type} items`, `send ${alternatives(roles)}`);
  return known;
}

export function checkItem(item: ItemShape, target: TaskTarget): CheckedItem {
  if (item.type === 'text') return item;
  const rule: rules.MediaItemRule = rules.MEDIA_ITEMS[item.type];
  return { ...item, rule, address: checkAddress(item, rule, target) };
}

const FORM_NAMES: Readonly<Record<rules.AddressForm, string>> = {
  https: 'a public HTTPS URL',
  file: 'the id of a file that you uploaded',
  asset: 'asset://<asset_id>',
  character: 'asset://<char_id>',
  data: 'a Base64 data URL',
};

function checkAddress({ url, param }: MediaShape, rule: rules.MediaItemRule, target: TaskTarget): Address {
  const advice = `send ${alternatives(rule.addresses.map((form) => FORM_NAMES[form]))}`;
  const bytes = typeof url === 'string' ? Buffer.from(url) : url.bytes();
  if (isDataUrl(bytes)) {
    if (!rule.addresses.includes('data'))
      throw invalidField(param, `a ${rule.kind} cannot be sent as a data URL`, advice);
    const { inlineMedia } = target.sheet;
    if (rule.kind === 'audio') return { form: 'data', length: checkAudio(bytes, param, inlineMedia) };
    checkImage(bytes, param, inlineMedia);
    return { form: 'data', length: undefined };
  }
  // The URL check would decode a text of 64 MB only to reject its length.
  const text = bytes.length > MAX_DECODED ? bytes.toString('utf8', 0, MAX_DECODED) : String(url);
  if (rules.isReference(text)) return { form: 'reference', reference: rules.parseReference(text) };
  if (rules.FILE_ID.pattern.test(text)) return { form: 'file', id: text };
  const parsed = publicUrl(text, target.allowedOrigins ?? []);
  if (!(parsed instanceof URL)) throw invalidField(param, problemOf(parsed.message), advice);
  return { form: 'https', url: parsed.href };
}
/** Above the longest URL that passes the check. */
const MAX_DECODED = 4_096;

/** The sentence of a URL rejection, for use inside another. */
export const problemOf = (sentence: string): string =>
  `${sentence.charAt(0).toLowerCase()}${sentence.slice(1).replace(/\.$/, '')}`;
