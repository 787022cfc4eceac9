/** What an upstream's refusal means for us: the error a client is told, and what the pool does about the account. */
import type { FaultKind } from '../rules/index.ts';
import type { HubError } from './hub.ts';

export interface Fault {
  readonly kind: FaultKind;
  readonly error: HubError;
  /** How long the account should rest, where the upstream said so. */
  readonly restMs?: number;
}
