/** Headers of a native call, both ways: by the lists in rules/headers.ts. */
import type { Account } from '../../catalog/index.ts';
import type { HttpHeaders } from '../../core/index.ts';
import { NOT_FORWARDED, PASSED_BACK, type Style } from '../../rules/index.ts';
import { CREDENTIAL_HEADER } from '../../upstream/index.ts';
import { type Call, idHeaders } from '../../web/index.ts';

/** The caller's headers without what is not for the upstream; the account's credential instead of the caller's. */
export function requestHeaders(call: Call, style: Style, account: Account): string[] {
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
  // Answers are read for usage on the way; a compressed one could not be.
  headers.push('accept-encoding', 'identity', ...CREDENTIAL_HEADER[style](account.credential));
  if (style === 'messages' && !hasVersion) headers.push('anthropic-version', DEFAULT_MESSAGES_VERSION);
  return headers;
}

/** Headers that the caller means for this connection only. */
function hopByHop(connection: string | undefined): readonly string[] {
  return connection === undefined || connection === 'keep-alive'
    ? []
    : connection
        .toLowerCase()
        .split(',')
        .map((name) => name.trim());
}

/** The real API refuses requests without a version; plain curl users forget it. */
export const DEFAULT_MESSAGES_VERSION = '2023-06-01';

export function responseHeaders(call: Call, headers: HttpHeaders): Record<string, string> {
  const passed: Record<string, string> = idHeaders(call);
  for (const name in headers) {
    const value = headers[name];
    if (PASSED_BACK.has(name) && value !== undefined) passed[name] = value;
  }
  return passed;
}
