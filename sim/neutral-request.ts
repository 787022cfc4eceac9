/** A request of any dialect in one form, as the simulated model reads it. */
import type { JsonObject } from './json.ts';

export interface Tool {
  name: string;
  description: string;
  schema: JsonObject;
  /** Called with free text instead of JSON arguments. */
  freeform?: boolean;
  namespace?: string;
}

export interface Call {
  id: string;
  name: string;
  args: string;
}
export interface ToolResult {
  callId: string;
  name: string;
  text: string;
}

export interface Turn {
  role: 'user' | 'assistant';
  text: string;
  calls: Call[];
  results: ToolResult[];
  media: number;
}

export interface Choice {
  mode: 'auto' | 'none' | 'required';
  only?: string[];
}

/** `hidden`: the reply has the token count and the opaque value, but no thoughts. */
export type Thinking = 'off' | 'hidden' | 'shown';

export type CacheTtl = 'none' | '5m' | '1h';

export interface NeutralRequest {
  model: string;
  system: string;
  turns: Turn[];
  tools: Tool[];
  choice: Choice;
  parallel: boolean;
  thinking: Thinking;
  /** Structured output; without a schema, any JSON object. */
  format?: { schema?: JsonObject };
  maxTokens?: number;
  stops: string[];
  cacheTtl: CacheTtl;
}

export function turn(role: Turn['role'], text = ''): Turn {
  return { role, text, calls: [], results: [], media: 0 };
}

/** The last user text, before any tool results that follow it. */
export function lastUserText(view: NeutralRequest): string {
  return view.turns.findLast((entry) => isPerson(entry))?.text ?? '';
}

/** The tool results since the last user text, with the names of their tools. */
export function freshResults(view: NeutralRequest): ToolResult[] {
  const start = view.turns.findLastIndex((entry) => isPerson(entry));
  const names = new Map(view.turns.flatMap((entry) => entry.calls).map((call) => [call.id, call.name]));
  return view.turns
    .slice(start + 1)
    .flatMap((entry) => entry.results)
    .map((result) => ({ ...result, name: result.name || (names.get(result.callId) ?? 'tool') }));
}

/** The cacheable prefix of the prompt: everything up to the first turn. */
export function prefixText(view: NeutralRequest): string {
  return view.system + (view.turns[0]?.text ?? '');
}

export function promptText(view: NeutralRequest): string {
  const turns = view.turns.map(
    (entry) =>
      entry.text + entry.calls.map((call) => call.name + call.args) + entry.results.map((result) => result.text),
  );
  const tools = view.tools.map((tool) => tool.name + tool.description + JSON.stringify(tool.schema));
  return view.system + turns.join('') + tools.join('');
}

function isPerson(entry: Turn): boolean {
  return entry.role === 'user' && entry.results.length === 0 && (entry.text !== '' || entry.media > 0);
}
