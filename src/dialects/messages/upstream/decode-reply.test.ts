import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CONTEXT } from '../../../../test/support/dialects/codecs.ts';
import { ApiError } from '../../../core/index.ts';
import { decodeReply } from './stream-decoder.ts';

describe('messages reply decoder', () => {
  it('throws upstream_error for a body that is not a message', () => {
    for (const body of [null, 'hello', [], {}, { content: 'x' }]) {
      assert.throws(
        () => decodeReply(body, CONTEXT),
        (error) => error instanceof ApiError && error.code === 'upstream_error',
      );
    }
  });

  it('throws the matching error for an error body with status 200', () => {
    const body = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    assert.throws(
      () => decodeReply(body, CONTEXT),
      (error) => error instanceof ApiError && error.code === 'server_is_overloaded',
    );
  });

  it('accepts a message without id, model, stop reason and usage', () => {
    assert.deepEqual(decodeReply({ content: [{}, null, { type: 'text' }] }, CONTEXT), {
      id: 'req_1',
      model: '',
      items: [
        { kind: 'opaque', issuer: 'messages', raw: {} },
        { kind: 'opaque', issuer: 'messages', raw: {} },
      ],
      stop: 'end',
      usage: { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, estimated: true },
    });
  });
});
