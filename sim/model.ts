/** The simulated model: decides the reply from the neutral request. */
import type { Fault } from './faults.ts';
import { freshResults, lastUserText, type NeutralRequest, type Tool } from './neutral-request.ts';
import type { PlannedCall, Reply } from './reply.ts';
import { requestedCalls } from './requested-tools.ts';
import { sample } from './sample.ts';
import { head, valuesIn } from './text.ts';
import { tokensIn } from './usage.ts';

export function decide(view: NeutralRequest, fault: Fault): Reply {
  const prompt = lastUserText(view);
  const reply: Reply = { thoughts: thoughtsOn(view, prompt), text: '', calls: [], stop: 'end' };
  const big = fault.big === undefined ? undefined : 'x'.repeat(fault.big);
  if (fault.events !== undefined) return { ...reply, text: repeatWord(big ?? 'word', fault.events) };
  if (big !== undefined) return { ...reply, text: big };
  if (/please (refuse|block)/i.test(prompt)) {
    const blocked = /please block/i.test(prompt);
    return { ...reply, refusal: 'This request was declined by the simulated provider.', blocked, stop: 'refusal' };
  }
  const calls = requestedCalls(view).map((wanted) => planCall(wanted.tool, wanted.values));
  if (calls.length > 0) {
    const names = calls.map((call) => call.tool.name).join(' and ');
    const text = /\bexplain\b/i.test(prompt) ? `I will use ${names}.` : '';
    return { ...reply, text, calls, stop: 'tool' };
  }
  return applyLimits({ ...reply, text: replyText(view, prompt) }, view);
}

function thoughtsOn(view: NeutralRequest, prompt: string): string {
  if (view.thinking === 'off') return '';
  return `The user wrote "${head(prompt, 80)}". A short simulated answer will do.`;
}

function planCall(tool: Tool, values: string[]): PlannedCall {
  if (tool.freeform) return { tool, args: values[0] ?? 'simulated input' };
  return { tool, args: JSON.stringify(sample(tool.schema, values)) };
}

function replyText(view: NeutralRequest, prompt: string): string {
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

/** Applies the stop sequences or the token limit, whichever comes first. */
function applyLimits(reply: Reply, view: NeutralRequest): Reply {
  const stops = view.stops
    .filter((stop) => stop !== '')
    .map((stop) => ({ stop, at: reply.text.indexOf(stop) }))
    .filter((entry) => entry.at >= 0)
    .sort((a, b) => a.at - b.at);
  const limit = view.maxTokens === undefined ? Number.POSITIVE_INFINITY : view.maxTokens - tokensIn(reply.thoughts);
  const room = Math.max(0, limit) * 4;
  const [first] = stops;
  if (first && first.at <= room) {
    return { ...reply, text: reply.text.slice(0, first.at), stop: 'sequence', stopSequence: first.stop };
  }
  if (reply.text.length <= room) return reply;
  const thoughts = limit <= 0 ? cut(reply.thoughts, (view.maxTokens ?? 0) * 4) : reply.thoughts;
  return { ...reply, thoughts, text: cut(reply.text, room), stop: 'length' };
}

function cut(text: string, length: number): string {
  return length <= 0 ? '' : head(text, length);
}

function repeatWord(word: string, count: number): string {
  return count === 0 ? '' : `${word}${` ${word}`.repeat(count - 1)}`;
}
