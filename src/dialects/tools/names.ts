/**
 * Tool names of one request: a bijection between the client's (namespace, name) and
 * names valid upstream. Replies are mapped by table, never by parsing.
 */
import { hash } from 'node:crypto';
import type { UpstreamDialect } from '../../rules/index.ts';
import { toolKey } from '../hub/effective-request.ts';
import type { HubEvent, HubItem, HubRequest, HubTool, ToolName } from '../hub/types.ts';

export interface ToolNames {
  toWire(tool: ToolName): string;
  /** Wire name -> the client's, only for names that differ. */
  readonly originals: ReadonlyMap<string, ToolName>;
}

interface NameGrammar {
  readonly fits: RegExp;
  readonly bad: RegExp;
  /** Characters. */
  readonly max: number;
}
const WORD: NameGrammar = { fits: /^[a-zA-Z0-9_-]{1,64}$/, bad: /[^a-zA-Z0-9_-]/g, max: 64 };
const GRAMMAR: Readonly<Record<UpstreamDialect, NameGrammar>> = {
  messages: WORD,
  chat: WORD,
  responses: WORD,
  converse: WORD,
  generate: { fits: /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/, bad: /[^a-zA-Z0-9_.:-]|^(?=[^a-zA-Z_])/g, max: 128 },
};

export function mapToolNames(request: HubRequest, dialect: UpstreamDialect): ToolNames {
  const wireNames = new Map<string, string>();
  const originals = new Map<string, ToolName>();
  const taken = new Set<string>();
  const tools = collectToolNames(request);
  // Names that fit are never changed, so they are reserved before any other name is made to fit.
  for (const tool of tools) {
    if (fitsGrammar(tool, dialect)) taken.add(tool.name);
  }
  for (const tool of tools) {
    const key = toolKey(tool);
    if (wireNames.has(key)) continue;
    const wireName = fitsGrammar(tool, dialect) ? tool.name : wireNameFor(tool, dialect, taken);
    taken.add(wireName);
    wireNames.set(key, wireName);
    if (wireName !== tool.name || tool.namespace !== undefined) originals.set(wireName, tool);
  }
  return { toWire: (tool) => wireNames.get(toolKey(tool)) ?? wireNameFor(tool, dialect, taken), originals };
}

function collectToolNames(request: HubRequest): ToolName[] {
  const names: ToolName[] = [];
  const add = (tool: ToolName) =>
    names.push(tool.namespace === undefined ? { name: tool.name } : { name: tool.name, namespace: tool.namespace });
  for (const tool of request.tools) {
    if (tool.kind === 'function' || tool.kind === 'custom' || tool.kind === 'builtin') add(tool);
  }
  for (const item of request.items) {
    if (item.kind === 'tool_call') add(item);
    if (item.kind !== 'tool_change') continue;
    for (const tool of item.add) {
      if (tool.kind === 'function' || tool.kind === 'custom') add(tool);
    }
  }
  if (request.toolChoice.kind === 'named') add(request.toolChoice);
  return names;
}

const fitsGrammar = (tool: ToolName, dialect: UpstreamDialect): boolean =>
  tool.namespace === undefined && GRAMMAR[dialect].fits.test(tool.name);

/** Replaces invalid characters; appends a hash of the original when the result is too long or taken. */
function wireNameFor(tool: ToolName, dialect: UpstreamDialect, taken: ReadonlySet<string>): string {
  const { bad, max } = GRAMMAR[dialect];
  const flat = tool.namespace === undefined ? tool.name : `${tool.namespace}__${tool.name}`;
  const clean = flat.replace(bad, '_') || '_';
  if (clean.length <= max && !taken.has(clean)) return clean;
  const suffix = `_${hash('sha256', toolKey(tool)).slice(0, 8)}`;
  return clean.slice(0, max - suffix.length) + suffix;
}

export function restoreItem(item: HubItem, names: ReadonlyMap<string, ToolName>): HubItem {
  if (item.kind !== 'tool_call') return item;
  const original = names.get(item.name);
  return original ? { ...item, ...original } : item;
}

export const restoreEvent = (event: HubEvent, names: ReadonlyMap<string, ToolName>): HubEvent =>
  'item' in event ? { ...event, item: restoreItem(event.item, names) } : event;

export type NamedTool = Exclude<HubTool, { kind: 'server' }>;

/** The first tool of each name. */
export function toolsByName(tools: readonly HubTool[]): ReadonlyMap<string, NamedTool> {
  const named = new Map<string, NamedTool>();
  for (const tool of tools) {
    if (tool.kind !== 'server' && !named.has(tool.name)) named.set(tool.name, tool);
  }
  return named;
}
