/** For tests of this folder: requests and answers in this dialect's own words. */

import { decodeRequest } from '../../../src/dialects/chat/client/decode-request.ts';
import { openDecoder } from '../../../src/dialects/chat/upstream/stream-decoder.ts';
import type { ReplyContext, UpstreamTarget } from '../../../src/dialects/codec.ts';
import type { HubEvent, HubRequest } from '../../../src/dialects/hub/types.ts';
import { capabilitiesOf } from '../../../src/rules/index.ts';
import { answerContext, CONTEXT, decodeAll as decodeWith, readVectors, type WireEvent } from './codecs.ts';

export { CONTEXT };
export const VECTORS = readVectors('chat');

export const decodeAll = (events: readonly WireEvent[], context = CONTEXT): HubEvent[] =>
  decodeWith(openDecoder(context), events);

export const decode = (body: object): HubRequest =>
  decodeRequest({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...body }, { headers: {} });

export const answerFor = (body: object, issuer: ReplyContext['issuer'] = 'messages'): ReplyContext =>
  answerContext({ request: decode(body), issuer });

export const target = (flags: object = {}, more: Partial<UpstreamTarget> = {}): UpstreamTarget => ({
  model: 'up-model',
  capabilities: { ...capabilitiesOf('responses', 'demo-model'), ...flags },
  ...more,
});
