/**
 * Tool names across dialects: a bijection for one request between the client's (namespace, name) and a name that the target's
 * grammar allows. The same function serves tools, tool choice and the calls in the history; answers are mapped back by table,
 * never by taking a name apart.
 */
import { hash } from 'node:crypto';
import type { Dialect } from '../../rules/index.ts';
import type { HubRequest } from '../hub/types.ts';

export interface ToolName {
  readonly name: string;
  readonly namespace?: string;
}
export interface Names {
  toWire(tool: ToolName): string;
  /** Only the names that were changed on the way out. */
  readonly back: ReadonlyMap<string, ToolName>;
}

const GRAMMAR: Readonly<Record<Dialect, { fits: RegExp; bad: RegExp; max: number }>> = {
  messages: { fits: /^[a-zA-Z0-9_-]{1,64}$/, bad: /[^a-zA-Z0-9_-]/g, max: 64 },
  chat: { fits: /^[a-zA-Z0-9_-]{1,64}$/, bad: /[^a-zA-Z0-9_-]/g, max: 64 },
  responses: { fits: /^[a-zA-Z0-9_-]{1,64}$/, bad: /[^a-zA-Z0-9_-]/g, max: 64 },
  generate: { fits: /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/, bad: /[^a-zA-Z0-9_.:-]|^(?=[^a-zA-Z_])/g, max: 128 },
};

export function mapNames(request: HubRequest, dialect: Dialect): Names {
  const wire = new Map<string, string>();
  const back = new Map<string, ToolName>();
  const taken = new Set<string>();
  const tools = toolNames(request);
  // Names that fit keep their spelling whatever else is there, so they claim theirs first.
  for (const tool of tools) if (plain(tool, dialect)) taken.add(tool.name);
  for (const tool of tools) {
    const id = keyOf(tool);
    if (wire.has(id)) continue;
    const safe = plain(tool, dialect) ? tool.name : freeName(tool, dialect, taken);
    taken.add(safe);
    wire.set(id, safe);
    if (safe !== tool.name || tool.namespace !== undefined) back.set(safe, tool);
  }
  return { toWire: (tool) => wire.get(keyOf(tool)) ?? freeName(tool, dialect, taken), back };
}

function toolNames(request: HubRequest): ToolName[] {
  const names: ToolName[] = [];
  const add = (tool: ToolName) =>
    names.push(tool.namespace === undefined ? { name: tool.name } : { name: tool.name, namespace: tool.namespace });
  for (const tool of request.tools)
    if (tool.kind === 'function' || tool.kind === 'custom' || tool.kind === 'builtin') add(tool);
  for (const item of request.items) {
    if (item.kind === 'tool_call') add(item);
    if (item.kind === 'tool_change')
      for (const tool of item.add) if (tool.kind === 'function' || tool.kind === 'custom') add(tool);
  }
  if (request.toolChoice.kind === 'named') add(request.toolChoice);
  return names;
}

const keyOf = (tool: ToolName): string => `${tool.namespace ?? ''}\n${tool.name}`;
const plain = (tool: ToolName, dialect: Dialect): boolean =>
  tool.namespace === undefined && GRAMMAR[dialect].fits.test(tool.name);

function freeName(tool: ToolName, dialect: Dialect, taken: ReadonlySet<string>): string {
  const { bad, max } = GRAMMAR[dialect];
  const flat = tool.namespace === undefined ? tool.name : `${tool.namespace}__${tool.name}`;
  const clean = flat.replace(bad, '_') || '_';
  if (clean.length <= max && !taken.has(clean)) return clean;
  const suffix = `_${hash('sha256', keyOf(tool)).slice(0, 8)}`;
  return clean.slice(0, max - suffix.length) + suffix;
}
