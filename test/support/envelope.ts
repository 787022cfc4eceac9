/** Is this body an error of the dialect of its path, whole and with nothing else? Answers its stable code. */
import assert from 'node:assert/strict';
import type { ErrorFormat } from '../../src/rules/index.ts';

interface ErrorBody {
  readonly type?: unknown;
  readonly request_id?: unknown;
  readonly error: {
    readonly code?: unknown;
    readonly type?: unknown;
    readonly status?: unknown;
    readonly message?: unknown;
    readonly details?: readonly { readonly '@type': string; readonly reason?: string }[];
  };
}

const MEMBERS: Readonly<Record<ErrorFormat, readonly string[]>> = {
  messages: ['code', 'message', 'type'],
  generate: ['code', 'details', 'message', 'status'],
  openai: ['code', 'message', 'param', 'type'],
  video: ['code', 'message', 'type'],
};

export function codeIn(envelope: ErrorFormat, status: number, body: unknown): string {
  const { error, ...rest } = body as ErrorBody;
  assert.equal(typeof error, 'object', `no error object in ${JSON.stringify(body)?.slice(0, 200)}`);
  assert.deepEqual(Object.keys(error).sort(), MEMBERS[envelope], `an error of the ${envelope} dialect`);
  assert.ok(typeof error.message === 'string' && error.message.length > 10, 'it says something');
  if (envelope === 'messages') {
    assert.equal(rest.type, 'error');
    assert.match(String(rest.request_id), /^req_/);
  } else assert.deepEqual(rest, {}, 'nothing beside the error');
  if (envelope !== 'generate') {
    assert.match(String(error.type), /^[a-z_]+$/);
    assert.match(String(error.code), /^[a-z_]+$/);
    return String(error.code);
  }
  assert.equal(error.code, status, 'the native code is the HTTP status');
  assert.match(String(error.status), /^[A-Z_]+$/);
  const [info] = error.details ?? [];
  assert.equal(info?.['@type'], 'type.googleapis.com/google.rpc.ErrorInfo');
  return String(info?.reason);
}
