/** The registry of dialects, one line each. Everything else about a dialect is in its folder. */
import type { ClientDialect, Dialect, UpstreamDialect } from '../rules/index.ts';
import * as chat from './chat/index.ts';
import type { ClientRequestHead, ClientSide, Codec, UpstreamSide } from './codec.ts';
import * as converse from './converse/index.ts';
import type { Pair } from './convert.ts';
import * as generate from './generate/index.ts';
import type { HubError, HubRequest, JsonObject } from './hub/types.ts';
import * as images from './images/index.ts';
import * as messages from './messages/index.ts';
import * as responses from './responses/index.ts';
import { isObject, maybeString } from './wire/read.ts';

/** What the index of a dialect exports. */
type Sides = Omit<ClientSide & UpstreamSide, 'dialect'>;
const codec = (dialect: Dialect, sides: Sides): Codec => ({
  client: { ...sides, dialect },
  upstream: { ...sides, dialect },
});

const CODECS: Readonly<Record<Dialect, Codec>> = {
  messages: codec('messages', messages),
  chat: codec('chat', chat),
  responses: codec('responses', responses),
  generate: codec('generate', generate),
};
const IMAGES: ClientSide = { ...images, dialect: 'images' };
const CONVERSE: UpstreamSide = { ...converse, dialect: 'converse' };

export const codecOf = (dialect: Dialect): Codec => CODECS[dialect];
export const clientOf = (dialect: ClientDialect): ClientSide =>
  dialect === 'images' ? IMAGES : codecOf(dialect).client;
export const upstreamOf = (dialect: UpstreamDialect): UpstreamSide =>
  dialect === 'converse' ? CONVERSE : codecOf(dialect).upstream;

/** The dialects of the caller and of the provider. */
export const pairOf = ({ client, upstream }: { client: ClientDialect; upstream: UpstreamDialect }): Pair => ({
  client: clientOf(client),
  upstream: upstreamOf(upstream),
});

/** Decodes the body of a token-count request, where fields about the output are optional. */
export function decodeCount(dialect: Dialect, body: unknown, head: ClientRequestHead): HubRequest {
  return dialect === 'messages'
    ? messages.decodeCountRequest(body, head)
    : codecOf(dialect).client.decodeRequest(countBody(body), head);
}

/** `countTokens` of the generate dialect accepts the request bare or inside `generateContentRequest`. */
const countBody = (body: unknown): unknown =>
  isObject(body) && isObject(body.generateContentRequest) ? body.generateContentRequest : body;

/** Error bodies by error format. The dialect's encoder puts in the sentences that its clients match on. */
const ERROR_BODIES: Readonly<Record<'messages' | 'openai' | 'generate', (error: HubError) => JsonObject>> = {
  messages: (error) => messages.encodeError(error, ''),
  openai: chat.encodeError,
  generate: generate.encodeError,
};

export function errorMessageFor(format: keyof typeof ERROR_BODIES, error: HubError): string {
  const body = ERROR_BODIES[format](error).error;
  return (isObject(body) && maybeString(body.message)) || error.message;
}

export { isSynthetic, SYNTHETIC_PREFIX } from './claude/server-tools.ts';
export * from './client-field.ts';
export type * from './codec.ts';
export * from './convert.ts';
export type { Fault } from './errors/fault.ts';
export { rejectWrongDialect } from './generate/client/wrong-dialect.ts';
export { PLACEHOLDER_SIGNATURE } from './generate/thought-signature.ts';
export { billedSearches } from './generate/usage.ts';
export { changedFields, checkSupport, HUB_FIELDS, type HubField, isPresent } from './hub/fields.ts';
export * from './hub/fold.ts';
export type * from './hub/types.ts';
export { NO_USAGE } from './hub/types.ts';
export { picturesIn, sizeOfPicture } from './images/pictures.ts';
export { sessionInUserId } from './messages/client/decode-request.ts';
export { mergeUsage as mergeReports } from './messages/usage.ts';
export { BYTES_ENVELOPE_PREFIX, ENVELOPE_PREFIX, isEnvelope } from './opaque/envelope.ts';
export * from './opaque/in-request.ts';
export { type SignOpaque, withoutForged } from './opaque/sign.ts';
export * from './opaque/summary.ts';
export { compactionClient } from './responses/index.ts';
export * from './tools/call-ids.ts';
export { omittedFrom } from './tools/hosted.ts';
export { isObject, maybeList, maybeObject, maybeString } from './wire/read.ts';
