/**
 * Estimated input tokens of a request: for the count endpoints when the provider cannot count, and for a charge when it does not report
 * usage. Text by its tokens, media by the piece, never by the bytes of their encoding.
 */
import { estimateTokens } from '../../core/index.ts';
import { decodeCount, type HubItem, type HubPart, type HubRequest, type HubTool } from '../../dialects/index.ts';
import type { Dialect } from '../../rules/index.ts';

/** Tokens that providers count for content that is not text, roughly. */
const IMAGE = 1_600;
const FILE = 4_000;
const PER_MESSAGE = 4;
/** Instructions that providers add when tools are offered. */
const TOOLS_BASE = 350;

/** Estimated input tokens, computed when they are needed. */
export type InputEstimate = () => number;

/** Of a body in the client's dialect. Requests that have no form in the hub, such as embeddings, are estimated by their texts. */
export function estimateBody(dialect: Dialect, body: unknown): number {
  try {
    return estimateRequest(decodeCount(dialect, body, { headers: {}, model: 'any', stream: false }));
  } catch {
    return textTokens(body);
  }
}

/** The same of bytes that are JSON. */
export const estimateBytes = (dialect: Dialect, body: Buffer): number =>
  estimateBody(dialect, JSON.parse(new TextDecoder().decode(body)));

/** Members that the model does not read, and encoded media. */
const UNREAD: ReadonlySet<string> = new Set([
  'model',
  'metadata',
  'user',
  'type',
  'role',
  'id',
  'mimeType',
  'mime_type',
]);
const ENCODED = /^(?:data:|[A-Za-z0-9+/_-]{256})/;

/** Texts anywhere in a body. Numbers in a list are tokens already, as embeddings accept them. */
function textTokens(value: unknown): number {
  if (typeof value === 'string') return ENCODED.test(value) ? IMAGE : estimateTokens(value);
  if (Array.isArray(value)) return sum(value.map((one) => (typeof one === 'number' ? 1 : textTokens(one))));
  if (typeof value !== 'object' || value === null) return 0;
  return sum(Object.entries(value).map(([name, member]) => (UNREAD.has(name) ? 0 : textTokens(member))));
}

export function estimateRequest(request: HubRequest): number {
  const system = sum(request.system.map(({ text }) => estimateTokens(text) + PER_MESSAGE));
  const tools = request.tools.length === 0 ? 0 : TOOLS_BASE + sum(request.tools.map(toolTokens));
  return system + tools + sum(request.items.map(itemTokens));
}

function itemTokens(item: HubItem): number {
  if (item.kind === 'message' || item.kind === 'tool_result') return PER_MESSAGE + sum(item.parts.map(partTokens));
  if (item.kind === 'tool_call') return PER_MESSAGE + estimateTokens(item.name) + estimateTokens(item.args);
  if (item.kind === 'reasoning') return sum(item.summary.map(estimateTokens));
  return item.kind === 'compaction' && item.text !== undefined ? estimateTokens(item.text) : 0;
}

function partTokens(part: HubPart): number {
  if (part.kind === 'text' || part.kind === 'refusal') return estimateTokens(part.text);
  if (part.kind === 'json') return estimateTokens(JSON.stringify(part.value));
  if (part.kind === 'search_result') return sum(part.texts.map(estimateTokens));
  if (part.kind === 'file' && part.source.kind === 'text') return estimateTokens(part.source.text);
  return part.kind === 'image' ? IMAGE : FILE;
}

function toolTokens(tool: HubTool): number {
  if (tool.kind === 'function')
    return estimateTokens(`${tool.name} ${tool.description ?? ''} ${JSON.stringify(tool.schema)}`);
  return tool.kind === 'custom' ? estimateTokens(`${tool.name} ${tool.description ?? ''}`) : TOOLS_BASE;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);
