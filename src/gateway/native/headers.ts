/** Headers and path of a native call, both ways, by the lists in src/rules/. */
import { failAt } from '../../core/index.ts';
import type { HttpHeaders } from '../../platform/http/index.ts';
import { type Call, idHeaders } from '../../platform/web/index.ts';
import {
  DEFAULT_MESSAGES_VERSION,
  NOT_FORWARDED,
  PASSED_BACK,
  REFUSED_BY_GENERATE,
  type Style,
} from '../../rules/index.ts';
import { forwardedQuery } from './query.ts';

/** The caller's headers without those in NOT_FORWARDED, to which the caller's credential belongs. */
export function requestHeaders(call: Call, style: Style): string[] {
  const { rawHeaders: fields } = call.request;
  const hop = hopByHop(call.header('connection'));
  const headers: string[] = [];
  let hasVersion = false;
  for (let n = 0; n < fields.length; n += 2) {
    const name = fields[n] ?? '';
    if (NOT_FORWARDED.has(name) || hop.includes(name)) continue;
    if (name === 'anthropic-version') hasVersion = true;
    headers.push(name, fields[n + 1] ?? '');
  }
  // The tap reads usage from the response; it could not read a compressed one.
  headers.push('accept-encoding', 'identity');
  if (style === 'messages' && !hasVersion) headers.push('anthropic-version', DEFAULT_MESSAGES_VERSION);
  return headers;
}

/** Throws for a header that changes the form of a generate-content response. */
export function rejectReshapingHeaders(call: Call): void {
  for (const name of REFUSED_BY_GENERATE) {
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

/** Headers that the caller marks as belonging to this connection only. */
function hopByHop(connection: string | undefined): readonly string[] {
  return connection === undefined || connection === 'keep-alive'
    ? []
    : connection
        .toLowerCase()
        .split(',')
        .map((name) => name.trim());
}

export function responseHeaders(call: Call, headers: HttpHeaders): Record<string, string> {
  const passed: Record<string, string> = idHeaders(call);
  for (const name in headers) {
    const value = headers[name];
    if (PASSED_BACK.has(name) && value !== undefined) passed[name] = value;
  }
  return passed;
}

/** The path of the operation with its version: root aliases are the same operation (G 4.1 r1). */
export const canonicalPath = (call: Pick<Call, 'path' | 'query'>): string => {
  const path = /^\/v1(?:beta)?\//.test(call.path) ? call.path : `/v1${call.path}`;
  return path + forwardedQuery(call.query, false);
};
