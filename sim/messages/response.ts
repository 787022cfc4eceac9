/** Messages responses. */
import type { Exchange } from '../exchange.ts';
import type { JsonObject } from '../json.ts';
import { decide } from '../model.ts';
import { lastUserText, type NeutralRequest } from '../neutral-request.ts';
import { mint } from '../opaque.ts';
import type { Reply } from '../reply.ts';
import { sendStream } from '../stream.ts';
import { distortUsage, measure, promptTokens, type Usage } from '../usage.ts';
import { readRequest } from './request.ts';
import { messageStream } from './stream.ts';

export async function createMessage(exchange: Exchange): Promise<void> {
  const view = readRequest(exchange);
  const reply = decide(view, exchange.fault);
  const usage = measure(view, reply, exchange.state.cache);
  const message = {
    id: exchange.state.ids.next('msg_'),
    type: 'message',
    role: 'assistant',
    model: exchange.model,
    content: contentOf(exchange, view, reply),
    stop_reason: STOP_REASONS[reply.stop],
    stop_sequence: reply.stopSequence ?? null,
    stop_details: stopDetails(reply),
    container: null,
    diagnostics: null,
    usage: distortUsage(usageOf(usage, view), exchange.fault.usage),
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

function contentOf(exchange: Exchange, view: NeutralRequest, reply: Reply): JsonObject[] {
  const content: JsonObject[] = [];
  if (reply.thoughts !== '') content.push(thinkingBlock(view, reply.thoughts));
  if (reply.text !== '') content.push({ type: 'text', text: reply.text });
  for (const call of reply.calls) {
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

function thinkingBlock(view: NeutralRequest, thoughts: string): JsonObject {
  if (/\bredacted\b/i.test(lastUserText(view))) return { type: 'redacted_thinking', data: mint('redacted', thoughts) };
  const thinking = view.thinking === 'hidden' ? '' : thoughts;
  return { type: 'thinking', thinking, signature: mint('thinking', thoughts) };
}

function stopDetails(reply: Reply): JsonObject | null {
  if (reply.refusal === undefined) return null;
  return { type: 'refusal', category: null, explanation: reply.refusal };
}

/** In this dialect `input_tokens` excludes cache reads and writes. */
function usageOf(usage: Usage, view: NeutralRequest): JsonObject {
  const long = view.cacheTtl === '1h';
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
