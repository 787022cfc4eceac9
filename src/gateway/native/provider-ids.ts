/**
 * Ids by which the provider would load something from the account,
 * which users share: the gateway has to know whose they are (ADR 12).
 */
import { hasEscapedLetters, membersAt, type Span, scanMembers, valueAt } from '../../core/index.ts';
import { isObject, type JsonObject, maybeList, maybeObject } from '../../dialects/index.ts';
import { CACHED_CONTENT_NAME, type Dialect, JSON_LIMITS } from '../../rules/index.ts';
import type { ScannedMembers } from '../billing/body-bounds.ts';
import { GOOGLE_MARKERS, googleObjectIn } from './google-objects.ts';

export interface ProviderIds {
  /** Items and containers that an earlier response may have created. */
  readonly references: readonly string[];
  /**
   * The field with an object that no call through the gateway creates:
   * a file, a cache, a vector store, a conversation, a tuned model.
   */
  readonly objectsIn: string | undefined;
  /** The id of a cached content, where it is the only such object and stands where a request for a reply uses one. */
  readonly cache?: string;
}

export function findProviderIds(body: Buffer, dialect: Dialect, scanned: ScannedMembers): ProviderIds | undefined {
  const { members, findings } = scanned;
  if (dialect === 'generate') return findGoogleIds(body, members, findings.known?.at);
  if (!findings.isWatched && !findings.tagged.some(({ tag, span }) => tag === 'untyped' && isBareReference(body, span)))
    return undefined;
  return idsIn(valuesOf(body, members, NAMING[dialect]));
}

/**
 * The same of generate-content, within the JSON limits.
 * `scanned`: its members, where known. In front of `from` it names nothing.
 */
export function findGoogleIds(body: Buffer, scanned?: ReadonlyMap<string, Span>, from = 0): ProviderIds | undefined {
  const { words, names } = GOOGLE_MARKERS;
  const rest = body.subarray(from);
  if (!hasEscapedLetters(rest) && !words.some((word) => rest.includes(word))) return undefined;
  const request = valuesOf(body, scanned ?? scanMembers(body, names, JSON_LIMITS), names);
  const objectsIn = googleObjectIn(request);
  if (objectsIn === undefined) return undefined;
  const { [objectsIn]: named, ...others } = request;
  const [, cache] = CACHED_CONTENT_NAME.exec(String(named)) ?? [];
  const isAlone = cache !== undefined && googleObjectIn(others) === undefined;
  return { references: [], objectsIn, ...(isAlone && { cache }) };
}

const valuesOf = (body: Buffer, members: ReadonlyMap<string, Span>, names: ReadonlySet<string>): JsonObject =>
  Object.fromEntries(
    [...members].filter(([name]) => names.has(name)).map(([name, span]) => [name, valueAt(body, span)]),
  );

export function idsIn(request: JsonObject): ProviderIds | undefined {
  const tools = maybeList(request.tools);
  const references = [
    ...maybeList(request.input).flatMap((item) => referenceIn(item) ?? []),
    ...tools.flatMap((tool) => containerIn(tool) ?? []),
    ...containerIds(request.container),
  ];
  const objectsIn = fieldWithObjects(request, tools);
  return references.length === 0 && objectsIn === undefined ? undefined : { references, objectsIn };
}

const NAMING: Readonly<Record<Exclude<Dialect, 'generate'>, ReadonlySet<string>>> = {
  responses: new Set(['input', 'tools', 'conversation']),
  chat: new Set(['messages']),
  messages: new Set(['messages', 'container']),
};

const ITEM_MEMBERS: ReadonlySet<string> = new Set(['id', 'role']);

/** A reference needs no type, so that `{"id":"msg_1"}` is one too. */
function isBareReference(body: Buffer, item: Span): boolean {
  const members = membersAt(body, item, ITEM_MEMBERS);
  return members.has('id') && !members.has('role');
}

function referenceIn(item: unknown): string | undefined {
  const { id, type, role } = maybeObject(item);
  const isReference = type === 'item_reference' || ((type === undefined || type === null) && role === undefined);
  return isReference && typeof id === 'string' ? id : undefined;
}

/** Of a messages request; an object beside it may name skills. */
const containerIds = (container: unknown): string[] =>
  [container, maybeObject(container).id].filter((id) => typeof id === 'string');

function containerIn(tool: unknown): string | undefined {
  const { container, environment } = maybeObject(tool);
  const { container_id: id } = maybeObject(environment);
  return [container, id].find((value) => typeof value === 'string');
}

function fieldWithObjects(request: JsonObject, tools: readonly unknown[]): string | undefined {
  if (request.conversation !== undefined && request.conversation !== null) return 'conversation';
  if (tools.some((tool) => maybeList(maybeObject(tool).vector_store_ids).length > 0 || namesFile(tool))) return 'tools';
  if (maybeList(request.input).some((item) => !isProviderCall(item) && namesFile(item))) return 'input';
  return namesFile(request.messages) ? 'messages' : undefined;
}

/** Calls that the provider made itself repeat ids which it does not load again. */
const isProviderCall = (item: unknown): boolean => String(maybeObject(item).type ?? '').endsWith('_call');

/** Objects whose `file_id` the provider loads; a citation has one too. */
const FILE_TYPES: ReadonlySet<unknown> = new Set<unknown>([
  undefined,
  'file',
  'input_file',
  'input_image',
  'computer_screenshot',
  'container_upload',
]);
/** Members with data of the model, of tools or of the user. */
const SKIPPED: ReadonlySet<string> = new Set([
  'annotations',
  'citations',
  'arguments',
  'parameters',
  'input',
  'input_schema',
  'schema',
  'metadata',
]);

function namesFile(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(namesFile);
  if (!isObject(value)) return false;
  const { file_id: id, file_ids: ids, type } = value;
  if (typeof id === 'string' && FILE_TYPES.has(type)) return true;
  if (maybeList(ids).some((one) => typeof one === 'string')) return true;
  return Object.entries(value).some(([name, child]) => !SKIPPED.has(name) && namesFile(child));
}
