/** What each conversion does to each field of a request or a reply, observed by converting it. */
import { ApiError } from '../../src/core/index.ts';
import { codecOf, encodeRequestFor, omittedFrom, pairOf, readReply } from '../../src/dialects/index.ts';
import type { UpstreamDialect } from '../../src/rules/index.ts';
import {
  DECODE_CONTEXT,
  type DialectPair,
  EMPTY_ENCODED,
  replyContextFor,
  requestFrom,
  targetFor,
} from './dialect-pairs.ts';
import { replyFields } from './reply-fields.ts';
import { requestFields } from './request-fields.ts';
import type { FieldCase, Json } from './type-walk.ts';

/**
 * `carried`: only in a value that the client returns to its provider. `default`: the value that holds without the field.
 * `lost`: the converted body does not depend on the field, and the gateway neither names nor rejects it. `invalid`: the body is
 * rejected for another reason, so the field is not tested.
 */
export type Outcome = 'kept' | 'changed' | 'carried' | 'dropped' | 'rejected' | 'default' | 'lost' | 'invalid';

export interface FieldOutcome {
  readonly field: FieldCase;
  readonly outcome: Outcome;
  /** The name in `x-gateway-dropped`, or the `param` of the error. */
  readonly name?: string;
}

/** The model name is replaced by the one that the operator configured. */
const NOT_SENT = /^model$/;

export const observeFields = (pair: DialectPair): readonly FieldOutcome[] =>
  once(`request: ${pair.name}`, () => observeAll(requestFields(pair.client), (body) => sendRequest(pair, body)));

/** Models that accept fewer settings than the demo's. */
export const RESTRICTED_MODELS: Readonly<Record<UpstreamDialect, string>> = {
  converse: 'meta.llama3-70b-instruct-v1:0',
  messages: 'claude-opus-5',
  chat: 'gpt-5',
  responses: 'gpt-5',
  generate: 'gemini-2.5-pro',
};

/** The same for another model, without the members of messages, which hardly depend on it. */
export const observeSettings = (pair: DialectPair, model = RESTRICTED_MODELS[pair.upstream]): readonly FieldOutcome[] =>
  observeAll(
    requestFields(pair.client).filter(({ path }) => SETTING.test(path)),
    (body) => sendRequest(pair, body, model),
  );

const SETTING = /^(?!messages\.|input\.)\w+(?:\.\w+)?$/;

/** Members of the reply of the pair's provider, as its client sees them. */
export const observeReplies = (pair: DialectPair): readonly FieldOutcome[] =>
  once(`reply: ${pair.name}`, () => observeAll(replyFields(pair.upstream), (body) => sendReply(pair, body)));

const observed = new Map<string, readonly FieldOutcome[]>();
function once(key: string, observe: () => readonly FieldOutcome[]): readonly FieldOutcome[] {
  const outcomes = observed.get(key) ?? observe();
  observed.set(key, outcomes);
  return outcomes;
}

function observeAll(fields: readonly FieldCase[], send: Send): readonly FieldOutcome[] {
  const outcomes = fields
    .filter(({ path }) => !NOT_SENT.test(path))
    .map((field) => ({ field, ...observe(field, send) }));
  const byField = Map.groupBy(outcomes, ({ field }) => fieldOf(field.label));
  return outcomes.map((one) => (isDefault(one, byField.get(fieldOf(one.field.label)) ?? []) ? withDefault(one) : one));
}

/** The label without the value of an enumeration or a boolean. */
const fieldOf = (label: string): string => label.replace(/=[^.()]*$/, '');
const withDefault = ({ field }: FieldOutcome): FieldOutcome => ({ field, outcome: 'default' });

/** One value of several may be what holds anyway, if the others leave a trace. */
const isDefault = ({ outcome }: FieldOutcome, values: readonly FieldOutcome[]): boolean =>
  outcome === 'lost' && values.length > 1 && values.filter((value) => value.outcome === 'lost').length === 1;

function observe(field: FieldCase, send: Send): Omit<FieldOutcome, 'field'> {
  const result = send(field.body);
  if ('rejected' in result) return outcomeOfRejection(field, result);
  const name = result.dropped.find((dropped) => names(dropped, field));
  const other = send(field.other);
  const without = 'rejected' in other ? '' : other.sent;
  if (isIn(field.value, result.sent) && !isIn(field.value, without)) return { outcome: 'kept' };
  if (name !== undefined) return { outcome: 'dropped', name };
  if (withoutEnvelopes(without) !== withoutEnvelopes(result.sent)) return { outcome: 'changed' };
  return { outcome: without === result.sent ? 'lost' : 'carried' };
}

const withoutEnvelopes = (sent: string): string => sent.replaceAll(/gw1\.[\w.-]*/g, '');

/** A text may also arrive inside a longer one; any other value is a member or an element. */
function isIn(value: unknown, sent: string): boolean {
  const json = JSON.stringify(value);
  if (typeof value === 'string' && value.length > 7) return sent.includes(value);
  return sent.includes(`:${json}`) || sent.includes(`[${json}`);
}

function outcomeOfRejection(field: FieldCase, { rejected }: Rejection): Omit<FieldOutcome, 'field'> {
  const { param = '' } = rejected.details;
  if (
    rejected.code !== 'unsupported_parameter' &&
    !/not supported|cannot be used|another provider/.test(rejected.message)
  )
    return { outcome: 'invalid', name: `${param}: ${rejected.message}` };
  // A rejected type is the whole object.
  const path = param.replaceAll(/\[\d+\]/g, '').replace(/\.type$/, '');
  return names(path, field) ? { outcome: 'rejected', name: path } : { outcome: 'lost', name: param };
}

/** A name covers what is inside it, and a path covers its parts; a name may omit the way to the field, or be the type of an item. */
function names(name: string, { path, label }: FieldCase): boolean {
  const type = name.split('.').at(-1) ?? '';
  if (label.includes(`(${type})`) || ITEM_NAMES[type]?.test(label)) return true;
  return coveredBy(name, path) || coveredBy(name, path.replace(ADDED_TOOL, 'tools'));
}
/** Items and blocks of replies that have another name for clients. */
const ITEM_NAMES: Readonly<Record<string, RegExp>> = {
  web_search: /\((?:web_search|server_tool_use)|groundingMetadata/,
  web_fetch: /\((?:web_fetch|web_search_call|server_tool_use)|urlContextMetadata/,
  code_execution: /code_execution|code_interpreter_call|shell_call|server_tool_use|executableCode|codeExecutionResult/,
  file_search: /\(file_search_call\)/,
  image_generation: /\(image_generation_call\)/,
  citations: /\.annotations\(/,
  thinking: /\(redacted_thinking\)/,
  tool_search: /\((?:tool_search|server_tool_use)/,
  mcp: /\(mcp_/,
  mcp_list_tools: /\(mcp_list_tools\)/,
  image: /image_generation_call|inlineData/,
};
/** A tool that a message adds is named like the others. */
const ADDED_TOOL = /^(?:messages\.content\.tool\.definition|input\.tools)/;
const coveredBy = (name: string, path: string): boolean =>
  name !== '' &&
  (`${path}.`.startsWith(`${name}.`) || `${name}.`.startsWith(`${path}.`) || `.${path}.`.includes(`.${name}.`));

interface Rejection {
  readonly rejected: ApiError;
}
type Sent = Rejection | { readonly sent: string; readonly dropped: readonly string[] };
type Send = (body: Json) => Sent;

function sendRequest(pair: DialectPair, body: Json, model = 'demo-1'): Sent {
  try {
    const request = codecOf(pair.client).client.decodeRequest(body, { headers: {}, model: 'm' });
    const encoded = encodeRequestFor(pairOf(pair), request, targetFor(pair.upstream, model));
    // Stop sequences that the gateway watches for have an effect, but are not sent.
    const sent = JSON.stringify([encoded.body, encoded.headers, encoded.emulateStop.length]);
    return { sent, dropped: encoded.dropped };
  } catch (error) {
    if (error instanceof ApiError) return { rejected: error };
    throw error;
  }
}

/** The names without `reply.`, which says where they come from. A failed reply is an error for the client. */
function sendReply(pair: DialectPair, body: Json): Sent {
  const { client, upstream } = pairOf(pair);
  try {
    const reply = readReply(upstream, EMPTY_ENCODED, body, DECODE_CONTEXT);
    const sent = client.encodeReply(reply, replyContextFor(requestFrom(pair.client), pair.upstream));
    return { sent: JSON.stringify(sent), dropped: omittedFrom(reply, client.replyForms) };
  } catch (error) {
    if (error instanceof ApiError) return { sent: JSON.stringify([error.code, error.message]), dropped: [] };
    throw error;
  }
}
