/** Tools that a provider runs or defines, on converted paths: their form in other dialects, and what happens where a provider has none. */
import type { UpstreamDialect } from './groups.ts';
import { rowsIn, words } from './notation.ts';

export const SERVER_TOOLS = words(
  'web_search web_fetch code_exec file_search image_gen mcp tool_search computer maps advisor other',
);
export type ServerTool = (typeof SERVER_TOOLS)[number];

export interface ToolForms {
  /** For clients and models, the same in all dialects. */
  readonly name: string;
  readonly forms: Partial<Readonly<Record<UpstreamDialect, string>>>;
  /** Where the provider has none: `refused`, `dropped`, or `refused alone`: dropped beside tools that the client runs. A forced tool is always refused. */
  readonly otherwise: 'refused' | 'dropped' | 'refused alone';
  readonly why: string;
}

/** Name, forms by dialect, what happens otherwise, and why. Of messages the oldest versions, which most accounts have. */
export const TOOL_FORMS: Readonly<Record<ServerTool, ToolForms>> = rowsIn(
  `
web_search: web_search | messages=web_search_20250305 responses=web_search generate=googleSearch chat=web_search_options | dropped | agents list it in every request
web_fetch: web_fetch | messages=web_fetch_20250910 generate=urlContext | dropped | web search of responses opens pages too
code_exec: code_execution | messages=code_execution_20250825 responses=code_interpreter generate=codeExecution | refused | the client has nothing that could run the code
file_search: file_search | - | refused | the files are at one provider
image_gen: image_generation | responses=image_generation generate=responseModalities | refused alone | Codex lists it beside its functions in every request
mcp: mcp | messages=mcp_servers responses=mcp | refused | servers carry credentials and act for the caller
tool_search: tool_search | messages=tool_search_tool_bm25_20251119 responses=tool_search | dropped | all tools are offered at once instead
computer: computer | messages=computer_20250124 responses=computer generate=computerUse | refused | the client waits for actions on its screen
maps: maps | - | dropped | places add to an answer
advisor: advisor | - | dropped | the model answers without advice
other: other_tool | - | dropped | a type that no table knows
`,
  ([name = '', forms = '', otherwise, why = '']): ToolForms => ({
    ...{ name, otherwise: otherwise as ToolForms['otherwise'], why },
    forms: Object.fromEntries(words(forms).flatMap((form) => (form === '-' ? [] : [form.split('=')]))),
  }),
);
