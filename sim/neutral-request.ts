import type { JsonObject } from './json.ts';

export type Tool = {
  name: string;
  description: string;
  schema: JsonObject;
  /** Takes free text instead of JSON arguments. */
  freeform?: boolean;
  namespace?: string;
};

export type Call = { id: string; name: string; args: string };
export type ToolResult = { callId: string; name: string; text: string };

export type Turn = { role: 'user' | 'assistant'; text: string; calls: Call[]; results: ToolResult[]; media: number };

export type Choice = { mode: 'auto' | 'none' | 'required'; only?: string[] };

/** `hidden`: the model thinks but shows only the cost and the opaque value. */
export type Thinking = 'off' | 'hidden' | 'shown';

export type CacheMark = 'none' | '5m' | '1h';

/** A request of any dialect, as the brain sees it. */
export type View = {
  model: string;
  system: string;
  turns: Turn[];
  tools: Tool[];
  choice: Choice;
  parallel: boolean;
  thinking: Thinking;
  /** Structured output was asked for; without a schema any JSON object will do. */
  format?: { schema?: JsonObject };
  maxTokens?: number;
  stops: string[];
  cacheMark: CacheMark;
};

export function turn(role: Turn['role'], text = ''): Turn {
  return { role, text, calls: [], results: [], media: 0 };
}

/** The last thing a person wrote, as opposed to the tool results that may follow it. */
export function lastUserText(view: View): string {
  return view.turns.findLast((entry) => isPerson(entry))?.text ?? '';
}

/** The tool results that have come back since the person last spoke, with the names of their tools. */
export function freshResults(view: View): ToolResult[] {
  const start = view.turns.findLastIndex((entry) => isPerson(entry));
  const names = new Map(view.turns.flatMap((entry) => entry.calls).map((call) => [call.id, call.name]));
  return view.turns
    .slice(start + 1)
    .flatMap((entry) => entry.results)
    .map((result) => ({ ...result, name: result.name || (names.get(result.callId) ?? 'tool') }));
}

/** The part of the prompt a provider could have cached: everything up to the first turn. */
export function prefixText(view: View): string {
  return view.system + (view.turns[0]?.text ?? '');
}

export function promptText(view: View): string {
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
