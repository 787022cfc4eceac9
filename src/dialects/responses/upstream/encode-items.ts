/**
 * The conversation for an upstream of this dialect: one row per hub item, order kept. Items carry no ids except reasoning, whose
 * encrypted content is bound to its own. Reasoning that lost the item it led to is left out, since the upstream refuses it alone.
 */

import { rejectCompaction, rejectRef } from '../../errors/rejection.ts';
import type {
  HubItem,
  HubMessage,
  HubReasoningItem,
  HubToolCall,
  HubToolResult,
  JsonObject,
  Opaque,
} from '../../hub/types.ts';
import { wrapInput } from '../../tools/free-text.ts';
import { rejectOrphan } from '../../tools/pair-results.ts';
import { callIdFor } from '../../wire/ids.ts';
import { compact, isObject, parseArgs } from '../../wire/read.ts';
import { encodeFormat } from '../encode-settings.ts';
import { encodeTools, type ToolJob, wireName } from '../encode-tools.ts';
import { encodeSummary } from '../output-items.ts';
import { type Breakpoints, encodeInput, encodeOutputText } from './encode-content.ts';

export interface Job extends ToolJob {
  readonly marks: Breakpoints;
  /** Call ids so far, and what kind of item answers each. */
  readonly calls: Map<string, string>;
}

export function encodeItems(job: Job): JsonObject[] {
  const { items } = job.request;
  const bodies = items.map((item, index) => encodeItem(item, index, job));
  const kept: JsonObject[] = [];
  let follows = false;
  for (let index = items.length - 1; index >= 0; index--) {
    const body: JsonObject | undefined = items[index]?.kind === 'reasoning' && !follows ? undefined : bodies[index];
    follows = body !== undefined && isOwnSide(items[index]);
    if (body) kept.push(body);
  }
  return kept.reverse();
}

/** Said or done by the model, so that reasoning can have led to it. */
const isOwnSide = (item: HubItem | undefined): boolean =>
  item !== undefined && (item.kind === 'message' ? item.role === 'assistant' : OWN_SIDE.has(item.kind));
const OWN_SIDE: ReadonlySet<HubItem['kind']> = new Set(['reasoning', 'tool_call', 'server_call', 'opaque']);

function encodeItem(item: HubItem, index: number, job: Job): JsonObject | undefined {
  switch (item.kind) {
    case 'message':
      return item.role === 'assistant' ? said(item, index, job) : message(item, job);
    case 'reasoning':
      return reasoning(item, job);
    case 'tool_call':
      return call(item, job);
    case 'tool_result':
      return result(item, job);
    case 'server_call':
      return item.issuer === 'responses' && isObject(item.raw) ? item.raw : undefined;
    case 'compaction':
      return compaction(item, job);
    case 'tool_change':
      return { type: 'additional_tools', role: 'developer', tools: encodeTools(item.add, job) };
    case 'config_change':
      return compact({
        type: 'configuration_update',
        reasoning: item.effort && { effort: item.effort },
        text: item.format && { format: encodeFormat(item.format) },
      });
    case 'ref':
      return rejectRef(item.id);
    case 'opaque':
      return item.issuer === 'responses' && isObject(item.raw) ? item.raw : undefined;
  }
}

function message(item: HubMessage, job: Job): JsonObject | undefined {
  const content = encodeInput(item.parts, job.marks);
  if (content.length === 0) return undefined;
  return { type: 'message', role: item.role === 'system' ? 'developer' : 'user', content };
}

function said(item: HubMessage, index: number, job: Job): JsonObject | undefined {
  const content = encodeOutputText(item.parts);
  if (content.length === 0) return undefined;
  const phase = job.target.capabilities.phase ? (item.phase ?? inferredPhase(index, job)) : undefined;
  return compact({ type: 'message', role: 'assistant', phase, content });
}

/** Words before a call of the same turn go along with the work; others are the answer. */
function inferredPhase(index: number, { request: { items } }: Job): 'commentary' | 'final_answer' {
  for (let at = index + 1; isOwnSide(items[at]); at++) if (items[at]?.kind === 'tool_call') return 'commentary';
  return 'final_answer';
}

// ---------------------------------------------------------------- reasoning

function reasoning(item: HubReasoningItem, job: Job): JsonObject | undefined {
  const { opaque } = item;
  if (!isAtHome(opaque, job) || opaque?.kind !== 'reasoning') return undefined;
  const summary = summaryParts(item.summary, opaque.lengths).map(encodeSummary);
  return compact({ type: 'reasoning', id: opaque.id, summary, encrypted_content: opaque.data });
}

/** Minted by this dialect's provider, and not by another account of it. */
function isAtHome(opaque: Opaque | undefined, { target }: Job): opaque is Opaque {
  if (opaque?.issuer !== 'responses') return false;
  return opaque.account === undefined || target.account === undefined || opaque.account === target.account;
}

const SEPARATOR = '\n\n';

/** Cuts a summary that was joined for a client back into its parts; a text that does not fit was edited and stays whole. */
function summaryParts(summary: readonly string[], lengths: readonly number[] | undefined): string[] {
  const texts = summary.filter((text) => text !== '');
  const [joined = ''] = texts;
  if (texts.length !== 1 || !lengths || lengths.length < 2) return texts;
  const total = lengths.reduce((sum, length) => sum + length, SEPARATOR.length * (lengths.length - 1));
  if (total !== joined.length) return texts;
  let from = 0;
  return lengths.map((length) => {
    const part = joined.slice(from, from + length);
    from += length + SEPARATOR.length;
    return part;
  });
}

function compaction(item: HubItem & { kind: 'compaction' }, job: Job): JsonObject {
  const { opaque, text } = item;
  if (isAtHome(opaque, job)) return compact({ type: 'compaction', id: opaque.id, encrypted_content: opaque.data });
  if (text) return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] };
  return rejectCompaction();
}

// ---------------------------------------------------------------- calls and results

const TYPED: Readonly<Record<string, { readonly type: string; readonly field: string }>> = {
  shell: { type: 'shell_call', field: 'action' },
  local_shell: { type: 'local_shell_call', field: 'action' },
  apply_patch: { type: 'apply_patch_call', field: 'operation' },
};

function call(item: HubToolCall, job: Job): JsonObject {
  const call_id = callIdFor('responses', item.callId);
  const typed = item.form === 'builtin' && job.request.dialect === 'responses' ? TYPED[item.name] : undefined;
  const custom = item.form === 'custom' && job.target.capabilities.customTools;
  const type = typed?.type ?? (custom ? 'custom_tool_call' : 'function_call');
  job.calls.set(item.callId, `${type}_output`);
  if (typed) return { type, call_id, status: 'completed', [typed.field]: parseArgs(item.args) };
  const name = wireName(job.names, item);
  const { namespace } = item;
  if (custom) return compact({ type, call_id, name, namespace, input: item.args });
  const args = item.form === 'custom' ? wrapInput(item.args) : item.args || '{}';
  return compact({ type, call_id, name, namespace, arguments: args });
}

function result(item: HubToolResult, job: Job): JsonObject {
  const type = job.calls.get(item.callId) ?? rejectOrphan(item.callId);
  const call_id = callIdFor('responses', item.callId);
  const [data] = item.parts;
  if (type === 'shell_call_output' && data?.kind === 'json') return { type, call_id, output: data.value };
  return { type, call_id, output: outputOf(item, job) };
}

/**
 * Plain text where that is all there is, unless marks are sent: a mark moves on from turn to turn, and the form of what it stood on
 * must not change with it. There is no flag for a failed tool, so the text says it.
 */
function outputOf(item: HubToolResult, job: Job): unknown {
  const parts = encodeInput(item.parts, job.marks);
  const [first] = parts;
  const prefix = item.isError ? ERROR_PREFIX : '';
  const text = parts.length === 0 ? '' : parts.length === 1 && first?.type === 'input_text' ? first.text : undefined;
  if (text !== undefined && !(first && job.target.capabilities.explicitCache)) return `${prefix}${text}`;
  return prefix === '' ? parts : [{ type: 'input_text', text: prefix.trim() }, ...parts];
}
const ERROR_PREFIX = 'Error: ';
