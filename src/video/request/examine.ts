/**
 * Examination of a task body: strict validation, fingerprint and what is asked of a provider.
 * Synchronous and pure, so that it runs in a worker thread as well. Cost is linear in the size of the body.
 */
import { ApiError, fail, JsonScanError } from '../../core/index.ts';
import { TASK_FIELDS, VIDEOS_FIELDS } from '../../rules/index.ts';
import { combineItems, type PlacedMedia } from './combinations.ts';
import { type CheckedItem, checkItem, contentNodes, type ItemShape, readItem } from './content.ts';
import { fingerprintOf } from './fingerprint.ts';
import { type JsonMembers, type JsonNode, type JsonText, parseTaskBody, shortName } from './json-tree.ts';
import {
  type CheckedParameters,
  checkConditions,
  checkParameters,
  type ParameterNodes,
  parameterNodes,
  withDefaults,
} from './parameters.ts';
import { promptOptionsIn } from './prompt-options.ts';
import * as tasks from './task-request.ts';
import { videosItems, videosParameters } from './videos-entry.ts';

interface EntryReader {
  readonly fields: readonly string[];
  readonly parameters: (body: JsonMembers, target: tasks.TaskTarget) => ParameterNodes;
  /** Items one by one, so that an error in the first is found before one in the second. */
  readonly items: (body: JsonMembers) => Iterable<ItemShape>;
}
const ENTRIES: Readonly<Record<tasks.TaskEntry, EntryReader>> = {
  tasks: { fields: TASK_FIELDS, parameters: parameterNodes, items: taskItems },
  videos: { fields: VIDEOS_FIELDS, parameters: videosParameters, items: videosItems },
};

function* taskItems(body: JsonMembers): Generator<ItemShape> {
  for (const [index, node] of contentNodes(body.get('content')).entries()) yield readItem(node, index);
}

/** Without a target, checks only the form of the body and the model name. The result keeps parts of `bytes`. */
export function examineTaskBody(
  bytes: Uint8Array,
  entry: tasks.TaskEntry,
  target: tasks.TaskTarget | undefined,
): tasks.Examination {
  const body = catching(() => parseTaskBody(plainBuffer(bytes)));
  if ('error' in body) return { kind: 'malformed', error: body.error };
  const fingerprint = fingerprintOf(entry, body.value);
  const model = catching(() => readModel(body.value.get('model')));
  if ('error' in model) return { kind: 'parsed', fingerprint, model: undefined, result: model };
  const result = target && catching(() => acceptRequest(body.value, model.value, entry, target));
  return {
    kind: 'parsed',
    fingerprint,
    model: model.value,
    result: result && ('error' in result ? result : result.value),
  };
}

/** Bodies come from the network or from another thread, never in shared memory. */
function plainBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer<ArrayBuffer> {
  if (!(buffer instanceof ArrayBuffer)) throw new Error('the body is in shared memory');
  return Buffer.from(buffer, byteOffset, byteLength);
}

function readModel(node: JsonNode | undefined): string {
  if (typeof node === 'string' && node !== '') return node;
  throw tasks.invalidField(
    'model',
    node === undefined ? 'missing' : 'not the name of a model',
    'send the name of a video model',
  );
}

/** The order of V 4: unknown fields, fields, content, combinations. */
function acceptRequest(
  body: JsonMembers,
  model: string,
  entry: tasks.TaskEntry,
  target: tasks.TaskTarget,
): tasks.AcceptedRequest {
  const { fields, parameters, items } = ENTRIES[entry];
  for (const name of body.keys())
    if (!fields.includes(name) && !Object.hasOwn(target.sheet.parameters, name))
      throw tasks.invalidField(shortName(name), 'unknown', 'remove it or check its spelling');
  const nodes = parameters(body, target);
  const checked = checkParameters(nodes, target);
  const content: CheckedItem[] = [];
  for (const item of items(body)) content.push(checkItem(item, target));
  const media = combineItems(content, target);
  const roles = media.map(({ role }) => role);
  checkConditions(target, checked.given, roles, (name) => nodes.get(name)?.param ?? name);
  const full = { ...checked, given: withDefaults(checked.given, target.sheet) };
  const texts = content.flatMap((item) => (item.type === 'text' ? String(item.text) : []));
  return {
    request: taskRequest(model, full, media, promptOptionsIn(texts, target.sheet)),
    upstream: { items: neutralItems(content, media), parameters: full.given },
  };
}

function taskRequest(
  model: string,
  { given, callbackUrl, safetyIdentifier }: CheckedParameters,
  media: readonly PlacedMedia[],
  promptOptions: tasks.PromptOptions | undefined,
): tasks.TaskRequest {
  return {
    model,
    parameters: given,
    callbackUrl,
    safetyIdentifier,
    hasVideoInput: media.some(({ rule }) => rule.kind === 'video'),
    promptOptions,
    references: media.flatMap(referenceOf),
    files: media.flatMap(({ param, rule, address }) =>
      address.form === 'file' ? [{ param, kind: rule.kind, id: address.id }] : [],
    ),
  };
}

function referenceOf({ index, param, rule, role, address }: PlacedMedia): readonly tasks.MediaReference[] {
  if (address.form !== 'reference' || !address.reference) return [];
  return [{ index, param, kind: rule.kind, role, ...address.reference }];
}

/**
 * The provider gets URLs as the parser normalised them,
 * because another parser could read the client's text differently.
 */
function neutralItems(content: readonly CheckedItem[], media: readonly PlacedMedia[]): readonly tasks.NeutralItem[] {
  const byIndex = new Map(media.map((item) => [item.index, item]));
  return content.map((item, index): tasks.NeutralItem => {
    const placed = byIndex.get(index);
    if (item.type === 'text') return { type: item.type, text: neutralText(item.text) };
    if (!placed) throw new Error(`content item ${index} has no role`);
    const { type, role, address, url } = placed;
    if (address.form === 'reference') return { type, role, address: undefined };
    return { type, role, address: address.form === 'https' ? address.url : neutralText(url) };
  });
}

/** Plain data, which can cross to another thread. */
const neutralText = (text: JsonText): tasks.NeutralText => (typeof text === 'string' ? text : { escaped: text.raw });

type Caught<T> = { readonly value: T } | { readonly error: tasks.RequestError };

function catching<T>(work: () => T): Caught<T> {
  try {
    return { value: work() };
  } catch (thrown) {
    const error = thrown instanceof JsonScanError ? fail('invalid_request', thrown.message) : thrown;
    if (!(error instanceof ApiError) || !isRequestCode(error.code)) throw thrown;
    const { param } = error.details;
    return { error: { code: error.code, message: error.message, ...(param !== undefined && { param }) } };
  }
}

const isRequestCode = (code: string): code is tasks.RequestError['code'] =>
  code === 'invalid_request' || code === 'unsupported_video_parameter' || code === 'invalid_asset_reference';
