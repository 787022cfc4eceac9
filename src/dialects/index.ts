/** The registry: one line per dialect. Everything else about a dialect is in its folder. */
import type { Dialect } from '../rules/index.ts';
import { encodeError as encodeChatError } from './chat/errors.ts';
import { chatCodec } from './chat/index.ts';
import type { ClientRequestHead, Codec } from './codec.ts';
import { encodeError as encodeGenerateError, generateCodec } from './generate/index.ts';
import type { HubError, HubRequest, JsonObject } from './hub/types.ts';
import { decodeCountRequest, encodeError as encodeMessagesError, messagesCodec } from './messages/index.ts';
import { responsesCodec } from './responses/index.ts';
import { isObject, maybeString } from './wire/read.ts';

const CODECS: Readonly<Record<Dialect, Codec>> = {
  messages: messagesCodec,
  chat: chatCodec,
  responses: responsesCodec,
  generate: generateCodec,
};
export const codecOf = (dialect: Dialect): Codec => CODECS[dialect];

/** A request that only asks how long it is: the same, but that nothing need be said about the answer. */
export function decodeCount(dialect: Dialect, body: unknown, head: ClientRequestHead): HubRequest {
  return dialect === 'messages'
    ? decodeCountRequest(body, head)
    : codecOf(dialect).client.decodeRequest(countBody(body), head);
}

/** The native form may wrap the request that it counts. */
const countBody = (body: unknown): unknown =>
  isObject(body) && isObject(body.generateContentRequest) ? body.generateContentRequest : body;

/** Bodies of errors, by the family of paths that shares one; the codec of the family chooses the words that its clients act on. */
const ERROR_BODIES: Readonly<Record<'messages' | 'openai' | 'generate', (error: HubError) => JsonObject>> = {
  messages: (error) => encodeMessagesError(error, ''),
  openai: encodeChatError,
  generate: encodeGenerateError,
};

/** What is said of an error in the words of a dialect. */
export function wordingFor(envelope: keyof typeof ERROR_BODIES, error: HubError): string {
  const said = ERROR_BODIES[envelope](error).error;
  return (isObject(said) && maybeString(said.message)) || error.message;
}

export { withClientField } from './client-field.ts';
export type * from './codec.ts';
export {
  type ConvertedRequest,
  convertReply,
  decodeRequestFor,
  encodeRequestFor,
  openConversion,
  type Pair,
  readReply,
  type StreamConversion,
} from './convert.ts';
export type { Fault } from './errors/fault.ts';
export { rejectWrongDialect } from './generate/client/wrong-dialect.ts';
export { checkSupport, HUB_FIELDS, type HubField } from './hub/fields.ts';
export { type Folded, fold, unfold } from './hub/fold.ts';
export type * from './hub/types.ts';
export { NO_USAGE } from './hub/types.ts';
export { isSynthetic, SYNTHETIC } from './messages/server-tools.ts';
export { ENVELOPE_PREFIX, isEnvelope } from './opaque/envelope.ts';
export {
  accountTagsIn,
  hasOpaque,
  type OpaqueForCall,
  opaqueByCall,
  opaquesIn,
  restoreOpaque,
  withoutOpaque,
  withoutOpaques,
} from './opaque/in-request.ts';
export { isObject } from './wire/read.ts';
