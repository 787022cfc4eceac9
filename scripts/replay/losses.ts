/**
 * Losses of a converted request: values of the client's request that neither reach the provider nor are named as
 * dropped.
 */
import { isRecord, jsonOf, textOf } from './recording.ts';

export interface Loss {
  /** Without indices. */
  readonly path: string;
  readonly value: string;
}

/**
 * Members whose values belong to one wire format or one provider: kinds, roles, ids, and values that only their issuer
 * can read. They never reach another provider as they are.
 */
const NOT_COMPARED: ReadonlySet<string> = new Set([
  ...['type', 'role', 'model', 'status', 'object', 'id', 'call_id', 'tool_call_id', 'tool_use_id', 'item_id', 'phase'],
  ...['signature', 'encrypted_content', 'data', 'thought_signature', 'encrypted_index', 'caller'],
  ...[
    'stream',
    'stream_options',
    'store',
    'include',
    'additionalProperties',
    '$schema',
    'format',
    'media_type',
    'detail',
  ],
  // What a hosted tool says about its own result.
  ...['execution', 'require_approval', 'retrieved_at', 'page_age', 'container_id', 'stop_reason'],
  // Positions.
  ...['start_index', 'end_index', 'index'],
]);

interface Translation {
  readonly path: RegExp;
  /** The members of other dialects that carry the value in another form. */
  readonly into?: RegExp;
  /** What a request without the member means. */
  readonly implied?: readonly unknown[];
}

const TRANSLATED: readonly Translation[] = [
  { path: /^tool_choice|^function_call$/, into: /"(?:tool_choice|toolConfig)":/, implied: ['auto'] },
  {
    path: /effort$|^(?:thinking|reasoning)\./,
    into: /"(?:thinkingConfig|thinking|reasoning|reasoning_effort|output_config|reasoningConfig|reasoning_config)":/,
    implied: ['none', 'default', 'summarized'],
  },
  { path: /^user$|^metadata\.user_id$|^safety_identifier$/, into: /"(?:safety_identifier|user|user_id)":/ },
  { path: /prompt_cache_breakpoint\.mode$/, into: /"(?:cache_control|cachePoint)":/ },
  { path: /cache_control\.ttl$/, into: /"ttl":"1h"/, implied: ['5m'] },
  { path: /^n$/, implied: [1] },
  { path: /^service_tier$/, into: /"service_?tier":/i, implied: ['on_demand', 'standard_only', 'auto', 'default'] },
  // Reasoning in a member of its own, which is how every converted reply has it.
  { path: /^reasoning_format$/, implied: ['parsed'] },
];

/**
 * Objects whose name is part of their type: tools with a date in the type, and calls of tools that the provider runs.
 */
const NAMED_BY_TYPE = /_\d{8}$|^server_tool_use$/;

export function findLosses(sent: unknown, received: unknown, dropped: readonly string[]): Loss[] {
  const reached = reachedValues(received);
  const text = JSON.stringify(received) ?? '';
  const isTranslated = (path: string, value: unknown): boolean =>
    TRANSLATED.some((row) => row.path.test(path) && (row.implied?.includes(value) || row.into?.test(text)));
  // The header names the older of two members by the newer one.
  const newer = dropped.includes('safety_identifier') ? ['user'] : [];
  const names = [...dropped, ...newer].map((name) => withoutIndices(name).split('.'));
  const losses: Loss[] = [];
  const visit = (value: unknown, at: Position): void => {
    if (Array.isArray(value)) for (const entry of value) visit(entry, at);
    else if (isRecord(value)) {
      const type = textOf(value.type);
      for (const [name, inner] of Object.entries(value))
        if (!NOT_COMPARED.has(name) && !(name === 'name' && NAMED_BY_TYPE.test(type)))
          visit(inner, { path: [...at.path, name], typed: [...at.typed, type, name] });
    } else if (isLost(value, at)) losses.push({ path: at.path.join('.'), value: String(value) });
  };
  const isLost = (value: unknown, { path, typed }: Position): boolean =>
    !reached(value) &&
    !isTranslated(path.join('.'), value) &&
    !names.some((name) => isWithin(name.length > 1 ? typed : path, name));
  visit(sent, { path: [], typed: [] });
  return losses;
}

interface Position {
  readonly path: readonly string[];
  /** The same with the types of the objects, by which the gateway names items and blocks. */
  readonly typed: readonly string[];
}

const withoutIndices = (name: string): string => name.replaceAll(/\[\d+\]|\.\d+(?=\.|$)/g, '');

/** True when the dropped name is the path, one of its parents, or a member of one of them. */
function isWithin(path: readonly string[], name: readonly string[]): boolean {
  let n = 0;
  for (const segment of path) if (segment === name[n]) n++;
  return n === name.length;
}

/** Texts may be joined, arguments be JSON inside a text, and media have a data URL around them. */
function reachedValues(received: unknown): (value: unknown) => boolean {
  const numbers = new Set<number>();
  const texts: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value === 'number') numbers.add(value);
    else if (typeof value === 'string') {
      texts.push(value);
      if (/^\s*[{[]/.test(value)) visit(jsonOf(value));
    } else if (Array.isArray(value)) for (const entry of value) visit(entry);
    else if (isRecord(value))
      for (const [name, inner] of Object.entries(value)) {
        texts.push(name);
        visit(inner);
      }
  };
  visit(received);
  const all = texts.join('\n');
  const hasText = (text: string): boolean => all.includes(text) || all.includes(JSON.stringify(text).slice(1, -1));
  return (value) => {
    if (typeof value === 'number') return numbers.has(value) || all.includes(String(value));
    if (typeof value !== 'string') return true;
    const text = withoutDataUrl(value).trim();
    const inner = /^[{[]/.test(text) ? jsonOf(text) : undefined;
    const isReached = (leaf: unknown): boolean =>
      (typeof leaf === 'number' && numbers.has(leaf)) || hasText(String(leaf));
    return hasText(text) || (inner !== undefined && leavesOf(inner).every(isReached));
  };
}

/** A text file may be sent as its text. */
function withoutDataUrl(value: string): string {
  const [, type = '', data = value] = /^data:([^;,]*)[^,]*,(.*)$/s.exec(value) ?? [];
  return type.startsWith('text/') ? Buffer.from(data, 'base64').toString('utf8') : data;
}

function leavesOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap(leavesOf);
  return isRecord(value) ? Object.values(value).flatMap(leavesOf) : [value];
}
