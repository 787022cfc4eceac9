/**
 * Thought signatures: values that only the provider can read and that a model of the third generation demands back with
 * its calls. Nothing here looks inside one; it is kept, wrapped, restored or replaced by the documented stand-in.
 */

import type { DecodeContext } from '../codec.ts';
import type { Opaque } from '../hub/types.ts';
import { isEnvelope, pack, unwrap } from '../opaque/envelope.ts';
import { ISSUER } from './wire.ts';

/** What the provider accepts in place of a signature that is lost or was never there. */
export const STAND_IN = 'skip_thought_signature_validator';

/** From an upstream's part. `callId` is set for a call: its value must find that very call again after a round trip. */
export function mintedAt(value: unknown, context: DecodeContext, callId?: string): Opaque | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  return {
    issuer: ISSUER,
    kind: 'thought',
    ...(callId !== undefined && { id: callId }),
    ...(context.account !== undefined && { account: context.account }),
    data: value,
  };
}

/** From a client's slot: an envelope of ours, or a bare value of its own provider. Damaged envelopes count as absent. */
export function fromSlot(value: unknown): Opaque | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  return isEnvelope(value) ? unwrap(value) : { issuer: ISSUER, kind: 'thought', data: value };
}

/** For a client's slot. */
export const toSlot = (opaque: Opaque | undefined): { readonly thoughtSignature?: string } =>
  opaque === undefined ? {} : { thoughtSignature: pack(opaque, ISSUER) };

/** The value for the provider, when it is its own and of the account that is asked; undefined means "do not send". */
export function restored(opaque: Opaque | undefined, account: string | undefined): string | undefined {
  if (opaque?.issuer !== ISSUER || opaque.kind !== 'thought') return undefined;
  const strange = opaque.account !== undefined && account !== undefined && opaque.account !== account;
  return strange ? undefined : opaque.data;
}
