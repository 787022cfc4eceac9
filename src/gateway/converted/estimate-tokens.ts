/** Estimated input tokens of a request, for the count endpoints when the provider cannot count. Never used for a charge. */
import { estimateTokens } from '../../core/index.ts';
import type { HubItem, HubPart, HubRequest, HubTool } from '../../dialects/index.ts';

/** Tokens that providers count for content that is not text, roughly. */
const IMAGE = 1_600;
const FILE = 4_000;
const PER_MESSAGE = 4;
/** Instructions that providers add when tools are offered. */
const TOOLS_BASE = 350;

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
