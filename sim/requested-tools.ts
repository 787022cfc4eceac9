import { freshResults, lastUserText, type Tool, type View } from './neutral-request.ts';
import { isOrdinary, valuesIn } from './text.ts';

/** A call the user asked for, with the words its arguments are to be made of. */
export type Wish = { tool: Tool; values: string[] };

/** Which tools the user asks for in plain words, honouring tool_choice. */
export function wishes(view: View): Wish[] {
  const { mode, only } = view.choice;
  const offered = only ? view.tools.filter((tool) => only.includes(tool.name)) : view.tools;
  const [first] = offered;
  if (mode === 'none' || first === undefined) return [];
  const prompt = lastUserText(view);
  const asked = askedTools(prompt, offered);
  const all = spread(prompt, asked.length === 0 && mode === 'required' ? [first] : asked);
  const done = freshResults(view).length;
  // "a, then b" asks for one call per step; otherwise results mean that the calls have been made.
  if (/\bthen\b/i.test(prompt) && asked.length > 1) return all.slice(done, done + 1);
  if (done > 0 && mode !== 'required') return [];
  return view.parallel ? all : all.slice(0, 1);
}

function askedTools(prompt: string, tools: Tool[]): Tool[] {
  const words = spaced(prompt);
  const named = tools
    .map((tool) => ({ tool, at: words.indexOf(` ${spaced(tool.name).trim()} `) }))
    .filter((entry) => entry.at >= 0)
    .sort((a, b) => a.at - b.at)
    .map((entry) => entry.tool);
  if (named.length > 0) return named;
  const related = relatedTool(words, tools);
  if (related) return [related];
  return /\b(use|run|try)\b.{0,20}\b(tools?|functions?)\b|\bcall\b/i.test(prompt) ? tools.slice(0, 1) : [];
}

/** The tool whose name or description shares a telling word with the prompt ("weather"). */
function relatedTool(words: string, tools: Tool[]): Tool | undefined {
  // A long prompt shares some word with every tool, so only short questions are guessed at.
  if (words.length > 600) return undefined;
  const told = new Set(words.split(' ').filter((word) => !isOrdinary(word)));
  const hit = (text: string, least: number) =>
    spaced(text)
      .split(' ')
      .some((word) => word.length >= least && told.has(word));
  return tools.find((tool) => hit(tool.name, 4)) ?? tools.find((tool) => hit(firstSentence(tool.description), 6));
}

function firstSentence(text: string): string {
  return text.split(/[.\n]/, 1)[0] ?? '';
}

/** Lower-case words between single spaces, so that `get_weather` and `get weather` are the same. */
function spaced(text: string): string {
  return ` ${text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()} `;
}

/** One wish per tool; one tool asked for "in parallel" or "for each" gets one per value. */
function spread(prompt: string, tools: Tool[]): Wish[] {
  const values = valuesIn(prompt).filter((value) => !tools.some((tool) => tool.name === value));
  const [only] = tools;
  if (only && tools.length === 1 && values.length > 1 && /\b(parallel|each|both)\b/i.test(prompt)) {
    return values.map((value) => ({ tool: only, values: [value] }));
  }
  return tools.map((tool) => ({ tool, values }));
}
