/** Finds the tools that a prompt asks for. */
import { freshResults, lastUserText, type NeutralRequest, type Tool } from './neutral-request.ts';
import { isOrdinary, valuesIn } from './text.ts';

/** A requested call, and the values for its arguments. */
export interface RequestedCall {
  tool: Tool;
  values: string[];
}

/** The tools that the prompt names or describes, within the tool choice. */
export function requestedCalls(view: NeutralRequest): RequestedCall[] {
  const { mode, only } = view.choice;
  const offered = only ? view.tools.filter((tool) => only.includes(tool.name)) : view.tools;
  const [first] = offered;
  if (mode === 'none' || first === undefined) return [];
  const prompt = lastUserText(view);
  const requested = toolsInPrompt(prompt, offered);
  const all = callsFor(prompt, requested.length === 0 && mode === 'required' ? [first] : requested);
  const done = freshResults(view).length;
  // "a, then b" asks for one call per step; otherwise results mean that all calls were made.
  if (/\bthen\b/i.test(prompt) && requested.length > 1) return all.slice(done, done + 1);
  if (done > 0 && mode !== 'required') return [];
  return view.parallel ? all : all.slice(0, 1);
}

function toolsInPrompt(prompt: string, tools: Tool[]): Tool[] {
  const words = normalizeWords(prompt);
  const named = tools
    .map((tool) => ({ tool, at: words.indexOf(` ${normalizeWords(tool.name).trim()} `) }))
    .filter((entry) => entry.at >= 0)
    .sort((a, b) => a.at - b.at)
    .map((entry) => entry.tool);
  if (named.length > 0) return named;
  const related = relatedTool(words, tools);
  if (related) return [related];
  return /\b(use|run|try)\b.{0,20}\b(tools?|functions?)\b|\bcall\b/i.test(prompt) ? tools.slice(0, 1) : [];
}

/** The tool whose name or description shares a distinctive word with the prompt ("weather"). */
function relatedTool(words: string, tools: Tool[]): Tool | undefined {
  // A long prompt shares some word with every tool, so only short prompts are matched.
  if (words.length > 600) return undefined;
  const distinctive = new Set(words.split(' ').filter((word) => !isOrdinary(word)));
  const hit = (text: string, minLength: number) =>
    normalizeWords(text)
      .split(' ')
      .some((word) => word.length >= minLength && distinctive.has(word));
  return tools.find((tool) => hit(tool.name, 4)) ?? tools.find((tool) => hit(firstSentence(tool.description), 6));
}

function firstSentence(text: string): string {
  return text.split(/[.\n]/, 1)[0] ?? '';
}

/** Lower-case words between single spaces, so that `get_weather` and `get weather` are the same. */
function normalizeWords(text: string): string {
  return ` ${text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()} `;
}

/** One call per tool; a single tool with "in parallel" or "for each" gets one call per value. */
function callsFor(prompt: string, tools: Tool[]): RequestedCall[] {
  const values = valuesIn(prompt).filter((value) => !tools.some((tool) => tool.name === value));
  const [only] = tools;
  if (only && tools.length === 1 && values.length > 1 && /\b(parallel|each|both)\b/i.test(prompt)) {
    return values.map((value) => ({ tool: only, values: [value] }));
  }
  return tools.map((tool) => ({ tool, values }));
}
