/**
 * What the pool knows about the health of an account:
 * faults of attempts, cooldowns, parks, and the events that operators see.
 */
import type { FaultKind, TimeoutClass } from '../../rules/index.ts';

/**
 * What an account is used for. A fault of one use says nothing about the others, unless the whole account is at fault.
 */
export interface AccountUse {
  readonly model?: string | undefined;
  readonly operation?: TimeoutClass | undefined;
}

export interface AttemptFault {
  readonly kind: FaultKind;
  /** The provider's own retry-after; the default of the kind when undefined. */
  readonly cooldownMs?: number | undefined;
  readonly providerCode?: string | undefined;
  readonly message?: string | undefined;
  /** Lines of other groups take the calls, so that every account of the group may be ejected. */
  readonly hasFallback?: boolean;
}

export interface Cooldown {
  /** Undefined for a cooldown of the whole account. */
  readonly use: AccountUse | undefined;
  readonly kind: FaultKind;
  readonly providerCode: string | undefined;
  readonly message: string | undefined;
  readonly since: number;
  readonly until: number;
  readonly faults: number;
  /** Ejections by the circuit that followed one another; 0 for a pause that the provider asked for. */
  readonly ejections: number;
  /** The account stays in use, because too many others of its group are ejected. */
  readonly isKept: boolean;
}

/** Why an account takes no calls until an operator acts. */
export interface Park {
  /** `draining` accounts still take calls that only they can serve. */
  readonly state: 'parked' | 'draining';
  readonly cause: 'credential' | 'operator';
  readonly providerCode?: string | undefined;
  readonly message?: string | undefined;
  readonly since: number;
}

export type AccountEvent =
  | { readonly type: 'cooling'; readonly cooldown: Cooldown }
  | { readonly type: 'recovered'; readonly cooldown: Cooldown; readonly because: 'success' | 'changed' | 'elsewhere' }
  | { readonly type: 'parked'; readonly park: Park }
  | { readonly type: 'resumed'; readonly park: Park; readonly because: 'changed' | 'elsewhere' };

/** `out`: a cooldown or another probe forbids the use. `avoided`: after all others. */
export type Standing = 'ready' | 'avoided' | 'out';

/** The key of the whole account; keys of uses contain a line break. */
export const WHOLE = '';

export const keyOf = ({ operation = 'none', model = '' }: AccountUse): string => `${operation}\n${model}`;
