import type { Exchange } from '../exchange.ts';
import type { JsonObject } from '../json.ts';
import { decide, type Reply } from '../model.ts';
import { lastUserText, type View } from '../neutral-request.ts';
import { mint } from '../opaque.ts';
import { sendStream } from '../stream.ts';
import { bend, measure, promptTokens, type Usage } from '../usage.ts';
import { readRequest } from './request.ts';
import { messageStream } from './stream.ts';

export async function createMessage(exchange: Exchange): Promise<void> {
  const view = readRequest(exchange);
  const answer = decide(view, exchange.fault);
  const usage = measure(view, answer, exchange.state.cache);
  const message = {
    id: exchange.state.ids.next('msg_'),
    type: 'message',
    role: 'assistant',
    model: exchange.model,
    content: contentOf(exchange, view, answer),
    stop_reason: STOP_REASONS[answer.stop],
    stop_sequence: answer.stopSequence ?? null,
    stop_details: stopDetails(answer),
    container: null,
    diagnostics: null,
    usage: bend(usageOf(usage, view), exchange.fault.usage),
  };
  if (exchange.json.stream === true) return sendStream(exchange, messageStream(exchange, message));
  await exchange.sendJson(message);
}

export async function countTokens(exchange: Exchange): Promise<void> {
  await exchange.sendJson({ input_tokens: promptTokens(readRequest(exchange, true)) });
}

const STOP_REASONS = {
  end: 'end_turn',
  length: 'max_tokens',
  sequence: 'stop_sequence',
  tool: 'tool_use',
  refusal: 'refusal',
};

function contentOf(exchange: Exchange, view: View, answer: Reply): JsonObject[] {
  const content: JsonObject[] = [];
  if (answer.thoughts !== '') content.push(thinkingBlock(view, answer.thoughts));
  if (answer.text !== '') content.push({ type: 'text', text: answer.text, citations: null });
  for (const call of answer.calls) {
    content.push({
      type: 'tool_use',
      id: exchange.state.ids.next('toolu_'),
      name: call.tool.name,
      input: JSON.parse(call.args),
      caller: { type: 'direct' },
    });
  }
  return content;
}

function thinkingBlock(view: View, thoughts: string): JsonObject {
  if (/\bredacted\b/i.test(lastUserText(view))) return { type: 'redacted_thinking', data: mint('redacted', thoughts) };
  const thinking = view.thinking === 'hidden' ? '' : thoughts;
  return { type: 'thinking', thinking, signature: mint('thinking', thoughts) };
}

function stopDetails(answer: Reply): JsonObject | null {
  if (answer.refusal === undefined) return null;
  return { type: 'refusal', category: null, explanation: answer.refusal };
}

/** Here `input_tokens` counts only what neither came from the cache nor went into it. */
function usageOf(usage: Usage, view: View): JsonObject {
  const long = view.cacheMark === '1h';
  return {
    input_tokens: usage.input - usage.cached - usage.written,
    cache_creation_input_tokens: usage.written,
    cache_read_input_tokens: usage.cached,
    cache_creation: {
      ephemeral_5m_input_tokens: long ? 0 : usage.written,
      ephemeral_1h_input_tokens: long ? usage.written : 0,
    },
    output_tokens: usage.output,
    output_tokens_details: { thinking_tokens: usage.reasoning },
    server_tool_use: null,
    service_tier: 'standard',
    inference_geo: null,
    speed: null,
  };
}
