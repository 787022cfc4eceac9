/**
 * Calls of tools that a provider ran. Only their issuer reads its blocks: other
 * clients carry them in an opaque value, other providers get them as text.
 */
import { valueOfJson } from '../../core/index.ts';
import { type Style, TOOL_FORMS } from '../../rules/index.ts';
import type { HubItem, HubPart, HubReasoningItem, HubReply, HubServerCall, Opaque, ReplyForms } from '../hub/types.ts';
import { isReadable } from '../opaque/envelope.ts';
import { type MemberTable, unreadMembers } from '../wire/members.ts';
import { isObject, maybeList, maybeObject, maybeString } from '../wire/read.ts';

/** The envelope has a limit of 1 MiB, and holds the text in base64. */
const MAX_CARRIED_CHARS = 500_000;

/**
 * Adds the form that a client of another dialect carries. A call
 * without raw blocks has nothing to return to its issuer.
 */
export function withCarrier(call: HubServerCall, account: string | undefined): HubServerCall {
  // An image has a form in every dialect and may have megabytes.
  if (call.raw === undefined || call.image || call.status === 'in_progress') return call;
  const data = JSON.stringify(call.raw);
  if (data.length > MAX_CARRIED_CHARS) return call;
  const opaque: Opaque = { issuer: call.issuer, kind: 'hosted', ...(account !== undefined && { account }), data };
  return { ...call, opaque };
}

/** The value that goes before the call's item in a reply; undefined for clients that get the issuer's own form. */
export const carriedBefore = ({ opaque }: HubServerCall, client: Style): Opaque | undefined =>
  opaque && opaque.issuer !== client ? opaque : undefined;

/**
 * Moves carried values to the calls that follow them. A value
 * without its call is dropped: no provider could place it.
 */
export function restoreCarried(items: readonly HubItem[]): HubItem[] {
  if (!items.some(isCarrier)) return [...items];
  return items.flatMap((item, n): HubItem[] => {
    if (isCarrier(item)) return [];
    const before = items[n - 1];
    return [item.kind === 'server_call' && before && isCarrier(before) ? { ...item, opaque: before.opaque } : item];
  });
}

type Carrier = HubReasoningItem & { readonly opaque: Opaque };
const isCarrier = (item: HubItem): item is Carrier => item.kind === 'reasoning' && item.opaque?.kind === 'hosted';

/** The blocks or items of a call for an upstream that issued it; undefined for any other, which gets `hostedText`. */
export function ownForm(
  call: HubServerCall,
  style: Style,
  { account }: { readonly account?: string },
): unknown[] | undefined {
  if (call.issuer === style && call.raw !== undefined) return listOf(call.raw);
  const { opaque } = call;
  if (!opaque || !isReadable(opaque, style, account)) return undefined;
  // The gateway wrote the text, and checks its signature; a codec must not throw for any input.
  const value = valueOfJson(opaque.data);
  return value === undefined ? undefined : listOf(value);
}

const listOf = (raw: unknown): unknown[] => (Array.isArray(raw) ? raw : [raw]);

// ---------------------------------------------------------------- text

/**
 * What the model asked for and got, for a provider that cannot read
 * the call in any other form. Empty if neither is known.
 */
export function hostedText(call: HubServerCall): string {
  const { tool, mcp, status } = call;
  const lines = [...inputLines(call), ...outputLines(call)];
  if (lines.length === 0) return '';
  let attributes = ` tool="${TOOL_FORMS[tool].name}"`;
  if (mcp) attributes += ` server="${mcp.server}"`;
  if (mcp?.name !== undefined) attributes += ` name="${mcp.name}"`;
  if (status === 'failed') attributes += ' status="failed"';
  return [`<tool_call${attributes}>`, ...lines, '</tool_call>'].join('\n');
}

function inputLines({ queries, code, mcp }: HubServerCall): string[] {
  const input = code ?? (mcp?.name === undefined ? queries?.join('\n') : mcp.args);
  return input ? ['<input>', input, '</input>'] : [];
}

function outputLines({ sources, found, output }: HubServerCall): string[] {
  const pages = (sources ?? []).map(({ url, title }) => (title === '' || title === url ? url : `${title} (${url})`));
  const tools = (found ?? []).map(({ name, description }) => (description ? `${name}: ${description}` : name));
  const lines = [...pages, ...tools, ...(output ? [output] : [])];
  return lines.length > 0 ? ['<output>', ...lines, '</output>'] : [];
}

// ---------------------------------------------------------------- names of what is left out

/** What the client does not get of a reply, by the names that `x-gateway-dropped` lists. */
export const omittedFrom = (
  { items, omitted = [] }: Pick<HubReply, 'items' | 'omitted'>,
  forms: ReplyForms,
): string[] => [...items.flatMap((item) => omittedItem(item, forms)), ...omitted];

function omittedItem(item: HubItem, forms: ReplyForms): readonly string[] {
  if (item.kind === 'message') return item.parts.flatMap((part) => omittedPart(part, forms));
  // Clients without an opaque slot get no compaction.
  if (item.kind === 'compaction') return forms.style ? [] : [item.kind];
  if (item.kind === 'opaque') return item.issuer === forms.style ? [] : [rawName(item.raw)];
  if (item.kind !== 'server_call' || item.issuer === forms.style) return [];
  if (item.image) return omittedPart(item.image, forms);
  return item.status === 'in_progress' || forms.hasHosted(item) ? [] : [hostedName(item)];
}

const hostedName = ({ tool, mcp }: HubServerCall): string =>
  mcp && mcp.name === undefined ? 'mcp_list_tools' : TOOL_FORMS[tool].name;

function omittedPart(part: HubPart, { hasImages, hasAudio, citesDocuments, quotes }: ReplyForms): readonly string[] {
  if (part.kind === 'image') return hasImages ? [] : [part.kind];
  if (part.kind === 'audio') return hasAudio ? [] : [part.kind];
  if (part.kind === 'video' || part.kind === 'file') return [part.kind];
  if (part.kind !== 'text' || !part.annotations) return [];
  if (!citesDocuments && part.annotations.some(({ document }) => document)) return ['citations'];
  return !quotes && part.annotations.some(({ cited }) => cited) ? ['citations.cited_text'] : [];
}

/** Members of a call that its text in the history does not have, by the type of the item or block. */
const LOST: Readonly<Record<string, MemberTable>> = {
  mcp_list_tools: { '*': true, tools: { '*': true, input_schema: false, annotations: false } },
  mcp_tool_listing: { '*': true, tools: { '*': true, input_schema: false, annotations: false } },
  mcp_call: { '*': true, approval_request_id: false },
  file_search_call: { '*': true, results: { '*': true, attributes: false } },
  web_search_tool_result: { '*': true, content: { '*': true, page_age: false } },
  web_fetch_tool_result: { '*': true, content: { '*': true, retrieved_at: false } },
};

export const lostMembers = ({ raw }: HubServerCall): string[] =>
  [raw].flat().flatMap((value) => {
    const item = maybeObject(value);
    const type = rawName(item);
    const table = Object.hasOwn(LOST, type) ? LOST[type] : undefined;
    return table ? unreadMembers(item, table).map((name) => `${type}.${name}`) : [];
  });

/** The type of content that only its issuer understands: of an item or a block, or the member of a part. */
export function rawName(raw: unknown): string {
  const value = maybeObject(raw);
  return maybeString(value.type) ?? Object.keys(value)[0] ?? 'content';
}

// ---------------------------------------------------------------- readers

/** Members of the wire that several dialects share: a list of tools with their schemas. */
export const foundTools = (value: unknown, schemaName: string): { name: string }[] =>
  maybeList(value).flatMap((entry) => {
    const tool = maybeObject(entry);
    const name = maybeString(tool.name) ?? maybeString(tool.tool_name);
    const description = maybeString(tool.description);
    const schema = tool[schemaName];
    return name === undefined
      ? []
      : [{ name, ...(description !== undefined && { description }), ...(isObject(schema) && { schema }) }];
  });
