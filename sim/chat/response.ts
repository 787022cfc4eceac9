/** Chat completions. */
import { CONTENT_FILTER } from '../clouds/azure.ts';
import type { Exchange } from '../exchange.ts';
import { nowSeconds } from '../ids.ts';
import { type JsonObject, numberOf, objectOf } from '../json.ts';
import { decide } from '../model.ts';
import type { Reply } from '../reply.ts';
import { sendStream } from '../stream.ts';
import { distortUsage, measure, type Usage } from '../usage.ts';
import { readRequest } from './request.ts';
import { chatServer, messageContent } from './servers.ts';
import { completionStream } from './stream.ts';

export async function createCompletion(exchange: Exchange): Promise<void> {
  const view = readRequest(exchange);
  const reply = decide(view, exchange.fault);
  const usage = measure(view, reply, exchange.state.cache);
  const choices = Math.min(Math.max(1, numberOf(exchange.json.n) ?? 1), 8);
  const completion = {
    id: exchange.state.ids.next('chatcmpl-'),
    object: 'chat.completion',
    created: nowSeconds(),
    model: exchange.model,
    choices: Array.from({ length: choices }, (_unused, index) => choiceOf(exchange, reply, index)),
    usage: reportsUsage(exchange) ? distortUsage(usageOf(usage, choices), exchange.fault.usage) : undefined,
    service_tier: 'default',
    system_fingerprint: 'fp_simulated',
    ...(exchange.cloud?.cloud === 'azure' && { prompt_filter_results: CONTENT_FILTER.prompt }),
  };
  if (exchange.json.stream !== true) return exchange.sendJson(completion);
  const includeUsage = objectOf(exchange.json.stream_options).include_usage === true;
  await sendStream(exchange, completionStream(exchange, completion, includeUsage));
}

const reportsUsage = ({ fault: { server } }: Exchange): boolean => !server || chatServer(server).usage !== 'never';

const FINISH_REASONS = { end: 'stop', length: 'length', sequence: 'stop', tool: 'tool_calls', refusal: 'stop' };

function choiceOf(exchange: Exchange, reply: Reply, index: number): JsonObject {
  const calls = reply.calls.map((call) => {
    const id = exchange.state.ids.next('call_');
    const { name } = call.tool;
    if (call.tool.freeform) return { id, type: 'custom', custom: { name, input: call.args } };
    return { id, type: 'function', function: { name, arguments: call.args } };
  });
  const silent = reply.refusal !== undefined || (calls.length > 0 && reply.text === '');
  return {
    index,
    message: {
      role: 'assistant',
      ...contentOf(exchange, reply, silent),
      refusal: reply.refusal ?? null,
      ...(calls.length > 0 && { tool_calls: calls }),
      annotations: [],
    },
    finish_reason: finishOf(exchange, reply.blocked ? 'content_filter' : FINISH_REASONS[reply.stop]),
    logprobs: null,
    ...(exchange.cloud?.cloud === 'azure' && { content_filter_results: CONTENT_FILTER.choice }),
  };
}

function contentOf({ fault: { server } }: Exchange, reply: Reply, silent: boolean): JsonObject {
  const text = silent ? '' : reply.text;
  const content = server ? messageContent(server, reply.thoughts, text) : { content: text };
  return { ...content, content: content.content === '' && silent ? null : (content.content ?? null) };
}

function finishOf({ fault: { server } }: Exchange, reason: string): string {
  return (server && chatServer(server).finishes?.[reason]) ?? reason;
}

function usageOf(usage: Usage, choices: number): JsonObject {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output * choices,
    total_tokens: usage.input + usage.output * choices,
    prompt_tokens_details: { cached_tokens: usage.cached, cache_write_tokens: usage.written, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoning * choices,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}
