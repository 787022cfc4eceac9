/**
 * Thought signatures, which models require back with their calls:
 * wrapped, restored or replaced by a placeholder, never parsed.
 */
import type { DecodeContext } from '../codec.ts';
import type { Opaque } from '../hub/types.ts';
import { isEnvelope, isReadable, packBytes, unwrap } from '../opaque/envelope.ts';
import { compact } from '../wire/read.ts';
import { ISSUER } from './wire.ts';

/** Documented placeholder that the provider accepts instead of a missing signature. */
export const PLACEHOLDER_SIGNATURE = 'skip_thought_signature_validator';

/** Reads a part from an upstream. With `callId` the signature can be matched to its call after a round trip. */
export function signatureFromUpstream(value: unknown, context: DecodeContext, callId?: string): Opaque | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  return compact({ issuer: ISSUER, kind: 'thought', id: callId, account: context.account, data: value });
}

/**
 * Reads `thoughtSignature` from a client: an envelope, or a bare
 * value of this provider. Damaged envelopes are ignored.
 */
export function signatureFromClient(value: unknown): Opaque | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  return isEnvelope(value) ? unwrap(value) : { issuer: ISSUER, kind: 'thought', data: value };
}

/** Returns the `thoughtSignature` member for a client, if any: bytes, which SDKs decode. */
export const signatureForClient = (opaque: Opaque | undefined): { readonly thoughtSignature?: string } =>
  opaque === undefined ? {} : { thoughtSignature: packBytes(opaque, ISSUER) };

/** Returns the value if this provider issued it for the target account, else undefined. */
export const signatureForUpstream = (opaque: Opaque | undefined, account: string | undefined): string | undefined =>
  opaque?.kind === 'thought' && isReadable(opaque, ISSUER, account) ? opaque.data : undefined;
