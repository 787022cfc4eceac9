/**
 * Encoder of the conversation, in order. Only reasoning items have an
 * id, and are dropped without the item that they led to.
 */
import { rejectCompaction, rejectRef } from '../../errors/rejection.ts';
import { forKind } from '../../hub/by-kind.ts';
import type * as hub from '../../hub/types.ts';
import { isReadable } from '../../opaque/envelope.ts';
import { splitSummary } from '../../opaque/summary-parts.ts';
import { COMPUTER } from '../../tools/computer-actions.ts';
import { wrapInput } from '../../tools/free-text.ts';
import { hostedText, ownForm } from '../../tools/hosted.ts';
import { rejectOrphan } from '../../tools/pair-results.ts';
import { callIdFor } from '../../wire/ids.ts';
import { compact, isObject, parseArgs } from '../../wire/read.ts';
import { encodeFormat } from '../encode-settings.ts';
import { encodeTools, type ToolContext, wireName } from '../encode-tools.ts';
import { encodeComputerCall, encodeSummary, TYPED_CALLS } from '../output-items.ts';
import { type BreakpointList, encodeInputParts, encodeOutputParts } from './encode-content.ts';

export interface EncodeContext extends ToolContext {
  readonly breakpoints: BreakpointList;
  /** Type of the result item by call id, for the calls so far. */
  readonly resultTypes: Map<string, string>;
}

export function encodeItems(context: EncodeContext): hub.JsonObject[] {
  const { items } = context.request;
  const bodies = items.map((item, index) => encodeItem(item, { index, context }));
  const kept: hub.JsonObject[] = [];
  let hasFollower = false;
  for (let index = items.length - 1; index >= 0; index--) {
    const body: hub.JsonObject | readonly hub.JsonObject[] | undefined =
      items[index]?.kind === 'reasoning' && !hasFollower ? undefined : bodies[index];
    hasFollower = body !== undefined && isModelItem(items[index]);
    if (body) kept.push(...[body].flat().reverse());
  }
  return kept.reverse();
}

/** Items that the model produces, and to which reasoning can lead. */
const isModelItem = (item: hub.HubItem | undefined): boolean =>
  item !== undefined && (item.kind === 'message' ? item.role === 'assistant' : MODEL_KINDS.has(item.kind));
const MODEL_KINDS: ReadonlySet<hub.HubItem['kind']> = new Set(['reasoning', 'tool_call', 'server_call', 'opaque']);

interface Place {
  readonly index: number;
  readonly context: EncodeContext;
}
const encodeItem = forKind<hub.HubItem, Place, hub.JsonObject | readonly hub.JsonObject[] | undefined>({
  message: (item, { index, context }) =>
    item.role === 'assistant' ? encodeAssistantMessage(item, index, context) : encodeMessage(item, context),
  reasoning: (item, { context }) => encodeReasoningItem(item, context),
  tool_call: (item, { context }) => encodeCall(item, context),
  tool_result: (item, { context }) => encodeResult(item, context),
  server_call: (item, { context }) => encodeServerCall(item, context),
  compaction: (item, { context }) => encodeCompaction(item, context),
  tool_change: ({ add }, { context }) => ({
    type: 'additional_tools',
    role: 'developer',
    tools: encodeTools(add, context),
  }),
  config_change: ({ effort, format }) =>
    compact({
      type: 'configuration_update',
      reasoning: effort && { effort },
      text: format && { format: encodeFormat(format) },
    }),
  ref: ({ id }) => rejectRef(id),
  opaque: ({ issuer, raw }) => (issuer === 'responses' && isObject(raw) ? raw : undefined),
});

/** A call of another provider becomes text of the assistant. Its image has no place in this dialect. */
function encodeServerCall(call: hub.HubServerCall, { target }: EncodeContext): readonly hub.JsonObject[] | undefined {
  const own = ownForm(call, 'responses', target);
  if (own) return own.filter(isObject);
  const text = call.tool === 'image_gen' ? '' : hostedText(call);
  return text === '' ? undefined : [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }];
}

function encodeMessage(item: hub.HubMessage, context: EncodeContext): hub.JsonObject | undefined {
  const content = encodeInputParts(item.parts, context.breakpoints);
  if (content.length === 0) return undefined;
  return { type: 'message', role: item.role === 'system' ? 'developer' : 'user', content };
}

function encodeAssistantMessage(
  item: hub.HubMessage,
  index: number,
  context: EncodeContext,
): hub.JsonObject | undefined {
  const content = encodeOutputParts(item.parts);
  if (content.length === 0) return undefined;
  const phase = context.target.capabilities.phase ? (item.phase ?? inferPhase(index, context)) : undefined;
  return compact({ type: 'message', role: 'assistant', phase, content });
}

/** Text before a call of the same turn is commentary; other text is the final answer. */
function inferPhase(index: number, { request: { items } }: EncodeContext): 'commentary' | 'final_answer' {
  for (let next = index + 1; isModelItem(items[next]); next++)
    if (items[next]?.kind === 'tool_call') return 'commentary';
  return 'final_answer';
}

function encodeReasoningItem(item: hub.HubReasoningItem, context: EncodeContext): hub.JsonObject | undefined {
  const { opaque } = item;
  if (opaque?.kind !== 'reasoning' || !isReadable(opaque, 'responses', context.target.account)) return undefined;
  const texts = item.summary.filter((text) => text !== '');
  const [joined] = texts;
  const parts = joined !== undefined && texts.length === 1 ? splitSummary(joined, opaque.lengths) : texts;
  return compact({
    type: 'reasoning',
    id: opaque.id,
    summary: parts.map(encodeSummary),
    encrypted_content: opaque.data,
  });
}

function encodeCompaction(item: hub.HubItem & { kind: 'compaction' }, context: EncodeContext): hub.JsonObject {
  const { opaque, text } = item;
  if (opaque && isReadable(opaque, 'responses', context.target.account))
    return compact({ type: 'compaction', id: opaque.id, encrypted_content: opaque.data });
  if (text) return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] };
  return rejectCompaction();
}

function encodeCall(item: hub.HubToolCall, context: EncodeContext): hub.JsonObject {
  const call_id = callIdFor('responses', item.callId);
  if (item.form === 'builtin' && item.name === COMPUTER) {
    context.resultTypes.set(item.callId, 'computer_call_output');
    const { id: _, ...call } = encodeComputerCall(item, '', 'completed');
    return { ...call, call_id };
  }
  const typed =
    item.form === 'builtin' && context.request.dialect === 'responses' ? TYPED_CALLS.get(item.name) : undefined;
  const custom = item.form === 'custom' && context.target.capabilities.customTools;
  const type = typed?.type ?? (custom ? 'custom_tool_call' : 'function_call');
  context.resultTypes.set(item.callId, `${type}_output`);
  if (typed) return { type, call_id, status: 'completed', [typed.field]: parseArgs(item.args) };
  const name = wireName(context.names, item);
  const { namespace } = item;
  if (custom) return compact({ type, call_id, name, namespace, input: item.args });
  const args = item.form === 'custom' ? wrapInput(item.args) : item.args || '{}';
  return compact({ type, call_id, name, namespace, arguments: args });
}

function encodeResult(item: hub.HubToolResult, context: EncodeContext): hub.JsonObject {
  const type = context.resultTypes.get(item.callId) ?? rejectOrphan(item.callId);
  const call_id = callIdFor('responses', item.callId);
  const [data] = item.parts;
  if (type === 'shell_call_output' && data?.kind === 'json') return { type, call_id, output: data.value };
  if (type === 'computer_call_output') return { type, call_id, output: encodeScreenshot(item, context) };
  return { type, call_id, output: encodeResultOutput(item, context) };
}

function encodeScreenshot(item: hub.HubToolResult, context: EncodeContext): hub.JsonObject {
  const image = encodeInputParts(item.parts, context.breakpoints).find(({ type }) => type === 'input_image');
  return compact({ type: 'computer_screenshot', image_url: image?.image_url, file_id: image?.file_id });
}

/**
 * A single text is a string, unless the model takes breakpoints: these move, and the
 * encoding of their former part must not change. A prefix marks errors.
 */
function encodeResultOutput(item: hub.HubToolResult, context: EncodeContext): unknown {
  const parts = encodeInputParts(item.parts, context.breakpoints);
  const [first, ...others] = parts;
  const prefix = item.isError ? ERROR_PREFIX : '';
  if (!first) return prefix;
  const isText = others.length === 0 && first.type === 'input_text' && first.text !== undefined;
  if (isText && !context.target.capabilities.explicitCache) return `${prefix}${first.text}`;
  return prefix === '' ? parts : [{ type: 'input_text', text: prefix.trim() }, ...parts];
}
const ERROR_PREFIX = 'Error: ';
