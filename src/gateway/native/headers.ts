/**
 * Headers, path and query of a native call, by the lists in src/rules/.
 * Every other parameter of the query keeps its bytes.
 */
import { failAt } from '../../core/index.ts';
import type { HttpHeaders } from '../../platform/http/index.ts';
import { type Call, idHeaders } from '../../platform/web/index.ts';
import * as rules from '../../rules/index.ts';

/** The caller's headers without those in NOT_FORWARDED, to which the caller's credential belongs. */
export function requestHeaders(call: Call, style: rules.Style): string[] {
  const { rawHeaders: fields } = call.request;
  const hop = hopByHop(call.header('connection'));
  const headers: string[] = [];
  let hasVersion = false;
  for (let n = 0; n < fields.length; n += 2) {
    const name = fields[n] ?? '';
    if (rules.NOT_FORWARDED.has(name) || hop.includes(name)) continue;
    if (name === 'anthropic-version') hasVersion = true;
    headers.push(name, fields[n + 1] ?? '');
  }
  // The tap reads usage from the response; it could not read a compressed one.
  headers.push('accept-encoding', 'identity');
  if (style === 'messages' && !hasVersion) headers.push('anthropic-version', rules.DEFAULT_MESSAGES_VERSION);
  return headers;
}

/** Throws for a header that changes the form of a generate-content response. */
export function rejectReshapingHeaders(call: Call): void {
  for (const name of rules.REFUSED_BY_GENERATE) {
    if (call.header(name) === undefined) continue;
    throw failAt('unsupported_parameter', name, 'this header changes the form of the response; omit it.');
  }
  const accept = call.header('accept');
  if (accept === undefined || READABLE.test(accept)) return;
  throw failAt(
    'unsupported_parameter',
    'accept',
    'responses are application/json or text/event-stream; accept one of them.',
  );
}

/** Accepts JSON or events, and does not prefer Protocol Buffers, which the provider offers too. */
const READABLE = /^(?!.*protobuf).*(?:json|text\/(?:event-stream|\*)|\*\/\*|application\/\*)/i;

function hopByHop(connection = 'keep-alive'): readonly string[] {
  if (connection === 'keep-alive') return [];
  const names = connection.toLowerCase().split(',');
  return names.map((name) => name.trim());
}

export function responseHeaders(call: Call, headers: HttpHeaders): Record<string, string> {
  const passed: Record<string, string> = idHeaders(call);
  for (const name in headers) {
    const value = headers[name];
    if (rules.PASSED_BACK.has(name) && value !== undefined) passed[name] = value;
  }
  return passed;
}

/** The path of the operation with its version: root aliases are the same operation (G 4.1 r1). */
export const canonicalPath = (call: Pick<Call, 'path' | 'query'>): string => {
  const path = /^\/v1(?:beta)?\//.test(call.path) ? call.path : `/v1${call.path}`;
  return path + forwardedQuery(call.query, false);
};

/**
 * The query for the provider with its question mark;
 * empty when nothing is left. Names are compared decoded: `k%65y` is `key`.
 */
export function forwardedQuery(query: string, isGenerate: boolean): string {
  if (query === '') return '';
  const kept = query.split('&').filter((pair) => isForwarded(pair, isGenerate));
  return kept.length === 0 ? '' : `?${kept.join('&')}`;
}

function isForwarded(pair: string, isGenerate: boolean): boolean {
  const [[name, value] = ['', '']] = new URLSearchParams(pair);
  const rule = rules.nativeQueryRule(name, isGenerate);
  if (rule === undefined) return true;
  if (rule === 'remove') return false;
  if (rule !== 'refuse' && rule.includes(value)) return true;
  const advice = rule === 'refuse' ? 'omit it' : `use ${rule.join(' or ')}, or omit it`;
  const param = name.slice(0, 40);
  throw failAt('unsupported_parameter', param, `this query parameter changes the form of the response; ${advice}.`);
}
