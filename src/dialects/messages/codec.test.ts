import assert from 'node:assert/strict';
import { it } from 'node:test';
import { call, clientContext, hubReply, message } from '../../../test/support/dialects/messages.ts';
import { encodeReply } from './client/encode-reply.ts';
import { decodeReply } from './upstream/stream-decoder.ts';

it('messages codec decodes an encoded reply to the same hub reply', () => {
  const hub = hubReply([message('assistant', 'Hello'), call('c', '{"a":1}')], {
    stop: 'tool',
    id: 'msg_abcdef',
    model: 'alias',
  });
  const usage = { ...hub.usage, tier: 'standard' };
  assert.deepEqual(decodeReply(encodeReply(hub, clientContext()), { requestId: 'r' }), { ...hub, usage });
});
