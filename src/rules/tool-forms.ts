/**
 * Tools that a provider runs or defines, on converted paths: their form in other dialects, and what happens where a
 * provider has none.
 */
import type { UpstreamDialect } from './groups.ts';

export const SERVER_TOOLS = [
  'web_search',
  'web_fetch',
  'code_exec',
  'file_search',
  'image_gen',
  'mcp',
  'tool_search',
  'computer',
  'maps',
  'advisor',
  'other',
] as const;
export type ServerTool = (typeof SERVER_TOOLS)[number];

export interface ToolForms {
  /** For clients and models, the same in all dialects. */
  readonly name: string;
  readonly forms: Partial<Readonly<Record<UpstreamDialect, string>>>;
  /**
   * Where the provider has none: `refused`, `dropped`, or `refused alone`: dropped beside tools that the client runs. A
   * forced tool is always refused.
   */
  readonly otherwise: 'refused' | 'dropped' | 'refused alone';
  readonly why: string;
}

/** Of messages the oldest versions, which most accounts have. */
export const TOOL_FORMS: Readonly<Record<ServerTool, ToolForms>> = {
  web_search: {
    name: 'web_search',
    forms: {
      messages: 'web_search_20250305',
      responses: 'web_search',
      generate: 'googleSearch',
      chat: 'web_search_options',
    },
    otherwise: 'dropped',
    why: 'agents list it in every request',
  },
  web_fetch: {
    name: 'web_fetch',
    forms: { messages: 'web_fetch_20250910', generate: 'urlContext' },
    otherwise: 'dropped',
    why: 'web search of responses opens pages too',
  },
  code_exec: {
    name: 'code_execution',
    forms: { messages: 'code_execution_20250825', responses: 'code_interpreter', generate: 'codeExecution' },
    otherwise: 'refused',
    why: 'the client has nothing that could run the code',
  },
  file_search: { name: 'file_search', forms: {}, otherwise: 'refused', why: 'the files are at one provider' },
  image_gen: {
    name: 'image_generation',
    forms: { responses: 'image_generation', generate: 'responseModalities' },
    otherwise: 'refused alone',
    why: 'Codex lists it beside its functions in every request',
  },
  mcp: {
    name: 'mcp',
    forms: { messages: 'mcp_servers', responses: 'mcp' },
    otherwise: 'refused',
    why: 'servers carry credentials and act for the caller',
  },
  tool_search: {
    name: 'tool_search',
    forms: { messages: 'tool_search_tool_bm25_20251119', responses: 'tool_search' },
    otherwise: 'dropped',
    why: 'all tools are offered at once instead',
  },
  computer: {
    name: 'computer',
    forms: { messages: 'computer_20250124', responses: 'computer', generate: 'computerUse' },
    otherwise: 'refused',
    why: 'the client waits for actions on its screen',
  },
  maps: { name: 'maps', forms: {}, otherwise: 'dropped', why: 'places add to an answer' },
  advisor: { name: 'advisor', forms: {}, otherwise: 'dropped', why: 'the model answers without advice' },
  other: { name: 'other_tool', forms: {}, otherwise: 'dropped', why: 'a type that no table knows' },
};
