/** Fixtures for tests of the chat dialect. */

import { decodeRequest } from '../../../src/dialects/chat/client/decode-request.ts';
import { openDecoder } from '../../../src/dialects/chat/upstream/stream-decoder.ts';
import type { ReplyContext, UpstreamTarget } from '../../../src/dialects/codec.ts';
import type { HubEvent, HubRequest } from '../../../src/dialects/hub/types.ts';
import { capabilitiesOf } from '../../../src/rules/index.ts';
import { CONTEXT, decodeAll as decodeWith, readVectors, replyContext, type WireEvent } from './codecs.ts';

export { CONTEXT };
export const VECTORS = readVectors('chat');

export const decodeAll = (events: readonly WireEvent[], context = CONTEXT): HubEvent[] =>
  decodeWith(openDecoder(context), events);

export const decode = (body: object): HubRequest =>
  decodeRequest({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...body }, { headers: {} });

export const replyContextFor = (body: object, issuer: ReplyContext['issuer'] = 'messages'): ReplyContext =>
  replyContext({ request: decode(body), issuer });

export const target = (flags: object = {}, more: Partial<UpstreamTarget> = {}): UpstreamTarget => ({
  model: 'up-model',
  capabilities: { ...capabilitiesOf('responses', 'demo-model'), ...flags },
  ...more,
});
