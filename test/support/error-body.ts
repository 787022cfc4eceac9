/** Validation of error bodies against the dialect of their path (G 7 r3). */
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

/** Asserts that the body is a complete error of this format with no further members; returns its stable code. */
export function errorCode(format: ErrorFormat, status: number, body: unknown): string {
  const { error, ...rest } = body as ErrorBody;
  assert.equal(typeof error, 'object', `no error object in ${JSON.stringify(body)?.slice(0, 200)}`);
  assert.deepEqual(Object.keys(error).sort(), MEMBERS[format], `an error of the ${format} dialect`);
  assert.ok(typeof error.message === 'string' && error.message.length > 10, 'the error has a message');
  if (format === 'messages') {
    assert.equal(rest.type, 'error');
    assert.match(String(rest.request_id), /^req_/);
  } else assert.deepEqual(rest, {}, 'nothing beside the error');
  if (format !== 'generate') {
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
