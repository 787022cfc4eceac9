/**
 * What a call does next, from what has happened. Pure:
 * time comes in as a number, accounts that are ready or full as outcomes.
 */
import type { Account } from '../catalog/index.ts';
import { type ApiError, fail } from '../core/index.ts';
import type { Fault } from '../dialects/index.ts';
import type { NoAccount } from '../providers/pool/index.ts';
import { FAILOVER, FALLBACK, type FaultKind, faultRow, type TimeoutClass } from '../rules/index.ts';
import { allAccountsBusy, clientErrorFor, FULL, notSentAgain, type WayUnavailable } from './client-error.ts';

export interface WayOrder {
  readonly ways: readonly {
    readonly caller: { readonly group: { readonly id: string }; readonly fallback?: object };
  }[];
  /** The error of the best way of the own group, where the plan leaves that one out. */
  readonly refusal: ApiError | undefined;
}

interface GroupAttempts {
  readonly group: string;
  readonly attempts: number;
  readonly startedAt: number;
}

export type Outcome =
  /** The request is ready for the accounts of the way: at first, and again for each round of a reply. */
  | { readonly kind: 'opened'; readonly accounts: readonly Account[]; readonly operation: TimeoutClass }
  | { readonly kind: 'no retry' }
  | { readonly kind: 'leased'; readonly accountId: string }
  /** Only accounts that are ready were wanted. */
  | { readonly kind: 'cooling'; readonly retryMs: number }
  | { readonly kind: 'no account'; readonly none: NoAccount }
  | { readonly kind: 'no slot'; readonly retryMs: number }
  /**
   * `isPartial`: a part of the request was rejected, and the same account gets the rest.
   * `isOnce`: nobody else may get the request.
   */
  | { readonly kind: 'fault'; readonly fault: Fault; readonly isPartial: boolean; readonly isOnce: boolean }
  | { readonly kind: 'over'; readonly error: WayUnavailable }
  | { readonly kind: 'served' };

export type Step =
  | { readonly kind: 'enter' }
  /** Lease one of the accounts and send. `isRetry`: takes one of the retries of the process. */
  | { readonly kind: 'attempt'; readonly accounts: readonly Account[]; readonly isRetry: boolean }
  | { readonly kind: 'wait'; readonly accounts: readonly Account[] }
  | {
      readonly kind: 'leave';
      readonly error: ApiError;
      readonly because: 'out' | 'request';
      readonly isSkipped: boolean;
    }
  /** The request is at fault: the client gets the provider's error. */
  | { readonly kind: 'reject' }
  | { readonly kind: 'refuse'; readonly error: ApiError | undefined }
  /** Nothing, until the next outcome: an account has the request, or the client its response. */
  | { readonly kind: 'none' };

export interface CallProgress {
  readonly order: WayOrder;
  readonly step: Step;
  readonly at: number;
  /** Only accounts that are not cooling down are tried; the second pass tries the others too. */
  readonly isFirstPass: boolean;
  readonly endings: readonly (WayUnavailable | undefined)[];
  readonly groups: readonly GroupAttempts[];
  readonly startedAt: number | undefined;
  /** The group of the moment may try nothing more. */
  readonly isSpent: boolean;
  readonly accounts: readonly Account[];
  readonly operation: TimeoutClass;
  readonly tried: readonly string[];
  /** The account that gets the rest of a request of which its provider rejected a part. */
  readonly again: string | undefined;
  readonly hasWaited: boolean;
  readonly fault: FaultKind | undefined;
  readonly last: ApiError | undefined;
}

export function begin(order: WayOrder): CallProgress {
  const { ways, refusal } = order;
  return {
    order,
    step: ways.length === 0 ? { kind: 'refuse', error: refusal } : ENTER,
    at: 0,
    isFirstPass: true,
    endings: [],
    groups: [],
    startedAt: undefined,
    isSpent: false,
    accounts: [],
    operation: 'none',
    ...UNTRIED,
  };
}

/** No account of the way has got the request. */
const UNTRIED = { tried: [], again: undefined, hasWaited: false, fault: undefined, last: undefined } as const;

const ENTER: Step = { kind: 'enter' };
const NOTHING: Step = { kind: 'none' };

export function next(now: CallProgress, outcome: Outcome, ms: number): CallProgress {
  switch (outcome.kind) {
    case 'opened':
      return open(now, outcome, ms);
    case 'no retry':
      return leave({ ...now, isSpent: true }, allAccountsBusy(FULL));
    case 'leased':
      return { ...now, groups: counted(now, 1, ms), tried: [...now.tried, outcome.accountId], step: NOTHING };
    case 'cooling':
      return leave(now, allAccountsBusy({ ...FULL, retryMs: outcome.retryMs }));
    case 'no account':
      return outcome.none.reason === 'full' && !now.hasWaited && waits(now)
        ? { ...now, hasWaited: true, step: { kind: 'wait', accounts: untried(now) } }
        : leave(now, allAccountsBusy(outcome.none));
    case 'no slot':
      return leave(now, allAccountsBusy({ ...FULL, retryMs: outcome.retryMs }), false);
    case 'fault':
      return afterFault(now, outcome, ms);
    case 'over':
      return advance({ ...now, endings: endingsWith(now, outcome.error) }, ms);
    case 'served':
      // A further request of the same call, such as the next round, begins anew.
      return { ...now, groups: [], startedAt: undefined, step: NOTHING };
  }
}

export const onlyReady = ({ isFirstPass, order }: CallProgress): boolean => isFirstPass && order.ways.length > 1;

export const hasFallback = ({ order: { ways }, at }: CallProgress): boolean =>
  at + 1 < ways.length && ways.at(-1)?.caller.fallback !== undefined;

/** When its accounts cannot serve the call, its client gets an error. */
export const isLastWay = ({ order: { ways }, at, isFirstPass }: CallProgress): boolean =>
  at + 1 >= ways.length && (!isFirstPass || ways.length === 1);

/** Accounts of the way that have not got the request. */
export const hasOthers = (now: CallProgress): boolean => untried(now).length > 0;

export const attemptCount = ({ groups }: CallProgress): number =>
  groups.reduce((sum, { attempts }) => sum + attempts, 0);

/** The call waits for a slot of these accounts before others take it. */
const waits = (now: CallProgress): boolean =>
  !onlyReady(now) || (now.at === 0 && !isFallback(now, 0) && (now.order.ways.length === 1 || isFallback(now, 1)));

const isFallback = ({ order }: CallProgress, at: number): boolean => order.ways[at]?.caller.fallback !== undefined;
const groupOf = ({ order, at }: CallProgress): string => order.ways[at]?.caller.group.id ?? '';

const untried = ({ accounts, tried }: CallProgress): readonly Account[] =>
  tried.length === 0 ? accounts : accounts.filter(({ id }) => !tried.includes(id));

function attemptsIn(now: CallProgress, ms: number): GroupAttempts {
  const group = groupOf(now);
  return now.groups.find((one) => one.group === group) ?? { group, attempts: 0, startedAt: ms };
}

function counted(now: CallProgress, more: number, ms: number): CallProgress['groups'] {
  const { group, attempts, startedAt } = attemptsIn(now, ms);
  return [...now.groups.filter((one) => one.group !== group), { group, attempts: attempts + more, startedAt }];
}

function open(before: CallProgress, { accounts, operation }: Outcome & { kind: 'opened' }, ms: number): CallProgress {
  const now: CallProgress = {
    ...before,
    startedAt: before.startedAt ?? ms,
    accounts,
    operation,
    ...UNTRIED,
  };
  return attemptsIn(now, ms).attempts === 0 ? attempt(now) : retry(now, ms);
}

function attempt(now: CallProgress, isRetry = false): CallProgress {
  if (now.accounts.length === 0)
    return { ...now, step: { kind: 'leave', error: fail('no_upstream_account'), because: 'out', isSkipped: false } };
  return { ...now, step: { kind: 'attempt', accounts: untried(now), isRetry } };
}

function retry(now: CallProgress, ms: number): CallProgress {
  const { attempts, startedAt } = attemptsIn(now, ms);
  const isInTime = ms - startedAt <= FAILOVER.withinMs[now.operation];
  return isInTime && attempts < FAILOVER.attempts && attemptCount(now) < FALLBACK.attempts
    ? attempt(now, true)
    : leave({ ...now, isSpent: true }, allAccountsBusy(FULL));
}

function afterFault(before: CallProgress, outcome: Outcome & { kind: 'fault' }, ms: number): CallProgress {
  const { fault, isPartial, isOnce } = outcome;
  const now = { ...before, fault: fault.kind };
  if (isPartial) {
    const [tried, again] = [now.tried.slice(0, -1), now.tried.at(-1)];
    return attempt({ ...now, groups: counted(now, -1, ms), tried, again, last: undefined });
  }
  const { failover, maybeAccepted } = faultRow(fault.kind);
  if (maybeAccepted && isOnce) return { ...now, step: { kind: 'refuse', error: notSentAgain(fault) } };
  if (!failover) return { ...now, step: { kind: 'reject' } };
  const failed = { ...now, last: clientErrorFor(fault) };
  return untried(failed).length === 0 ? leave(failed, failed.last) : retry(failed, ms);
}

/** The accounts of the way cannot serve the call. `busy`: the error of one that tried none of them. */
function leave(now: CallProgress, busy: ApiError, isSkipped = now.last === undefined): CallProgress {
  // A firewall rejects what a request says, and so may any other one.
  const because = now.fault === 'forbidden' ? 'request' : 'out';
  return { ...now, step: { kind: 'leave', error: now.last ?? busy, because, isSkipped } };
}

const endingsWith = ({ order, at, endings }: CallProgress, error: WayUnavailable): CallProgress['endings'] =>
  order.ways.map((_, n) => (n === at ? error : endings[n]));

/**
 * The next way: first those of the group, then the fallback lines,
 * and then those that were skipped because their accounts are cooling down.
 */
function advance(now: CallProgress, ms: number): CallProgress {
  const { ways } = now.order;
  let { at, isFirstPass, isSpent } = now;
  for (;;) {
    at += 1;
    if (at >= ways.length) {
      const isLast = !isFirstPass || ways.length === 1 || (isFallback(now, ways.length - 1) && !mayGoOn(now, ms));
      if (isLast) return { ...now, step: { kind: 'refuse', error: bestError(now) } };
      at = 0;
      isFirstPass = false;
      isSpent = isSpent && !isFallback(now, ways.length - 1);
    }
    const isOpen = now.endings[at]?.isSkipped !== false;
    const isAllowed = isFallback(now, at) ? fallsBack(now) && mayGoOn(now, ms) : !isSpent;
    if (isOpen && isAllowed) return { ...now, at, isFirstPass, isSpent: isSpent && !isFallback(now, at), step: ENTER };
  }
}

/** A provider that has not seen the call gets it without a retry being taken. */
const mayGoOn = (now: CallProgress, ms: number): boolean =>
  attemptCount(now) < FALLBACK.attempts && ms - (now.startedAt ?? ms) <= FALLBACK.withinMs;

/** Never because of the request. */
function fallsBack(now: CallProgress): boolean {
  const isOut = (error: WayUnavailable | undefined, at: number): boolean =>
    !isFallback(now, at) && error?.because === 'out';
  return now.order.refusal !== undefined || isFallback(now, 0) || now.endings.some(isOut);
}

/**
 * That of the best way counts when its accounts are back.
 * What a line of another group holds, the error of that line says more about.
 */
function bestError(now: CallProgress): ApiError | undefined {
  const { refusal } = now.order;
  if (!refusal) return now.endings[0];
  return now.endings.find((error, at) => isFallback(now, at) && error?.because === 'out') ?? refusal;
}
