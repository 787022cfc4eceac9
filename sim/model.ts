import type { Fault } from './faults.ts';
import { freshResults, lastUserText, type Tool, type View } from './neutral-request.ts';
import { wishes } from './requested-tools.ts';
import { sample } from './sample.ts';
import { head, valuesIn } from './text.ts';
import { tokensIn } from './usage.ts';

export type PlannedCall = { tool: Tool; args: string };

/** What is answered, before a dialect gives it its form. */
export type Reply = {
  thoughts: string;
  text: string;
  calls: PlannedCall[];
  /** The model answers that it will not; `blocked`: the provider did not even ask it. */
  refusal?: string;
  blocked?: boolean;
  stop: 'end' | 'length' | 'sequence' | 'tool' | 'refusal';
  stopSequence?: string;
};

/** One mind for all dialects: what comes out depends only on the neutral view. */
export function decide(view: View, fault: Fault): Reply {
  const prompt = lastUserText(view);
  const answer: Reply = { thoughts: thoughtsOn(view, prompt), text: '', calls: [], stop: 'end' };
  if (fault.events !== undefined) return { ...answer, text: manyWords(fault.events) };
  if (fault.big !== undefined) return { ...answer, text: 'x'.repeat(fault.big) };
  if (/please (refuse|block)/i.test(prompt)) {
    const blocked = /please block/i.test(prompt);
    return { ...answer, refusal: 'This request was declined by the simulated provider.', blocked, stop: 'refusal' };
  }
  const calls = wishes(view).map((wish) => planCall(wish.tool, wish.values));
  if (calls.length > 0) {
    const names = calls.map((call) => call.tool.name).join(' and ');
    const text = /\bexplain\b/i.test(prompt) ? `I will use ${names}.` : '';
    return { ...answer, text, calls, stop: 'tool' };
  }
  return shorten({ ...answer, text: sentence(view, prompt) }, view);
}

function thoughtsOn(view: View, prompt: string): string {
  if (view.thinking === 'off') return '';
  return `The user wrote "${head(prompt, 80)}". A short simulated answer will do.`;
}

function planCall(tool: Tool, values: string[]): PlannedCall {
  if (tool.freeform) return { tool, args: values[0] ?? 'simulated input' };
  return { tool, args: JSON.stringify(sample(tool.schema, values)) };
}

function sentence(view: View, prompt: string): string {
  const label = `This is a simulated answer from ${view.model}.`;
  if (view.format) {
    const { schema } = view.format;
    if (schema) return JSON.stringify(sample(schema, valuesIn(prompt)));
    return JSON.stringify({ answer: label, prompt: head(prompt, 400) });
  }
  const results = freshResults(view);
  if (results.length > 0) {
    return `${label} ${results.map((one) => `The tool ${one.name} returned: "${head(one.text, 2_000)}".`).join(' ')}`;
  }
  return `${label} You said: "${head(prompt, 400)}".`;
}

/** Applies the stop sequences and the token limit, whichever cuts first. */
function shorten(answer: Reply, view: View): Reply {
  const stops = view.stops
    .filter((stop) => stop !== '')
    .map((stop) => ({ stop, at: answer.text.indexOf(stop) }))
    .filter((entry) => entry.at >= 0)
    .sort((a, b) => a.at - b.at);
  const limit = view.maxTokens === undefined ? Number.POSITIVE_INFINITY : view.maxTokens - tokensIn(answer.thoughts);
  const room = Math.max(0, limit) * 4;
  const [first] = stops;
  if (first && first.at <= room) {
    return { ...answer, text: answer.text.slice(0, first.at), stop: 'sequence', stopSequence: first.stop };
  }
  if (answer.text.length <= room) return answer;
  const thoughts = limit <= 0 ? cut(answer.thoughts, (view.maxTokens ?? 0) * 4) : answer.thoughts;
  return { ...answer, thoughts, text: cut(answer.text, room), stop: 'length' };
}

function cut(text: string, length: number): string {
  return length <= 0 ? '' : head(text, length);
}

function manyWords(count: number): string {
  return count === 0 ? '' : `word${' word'.repeat(count - 1)}`;
}
