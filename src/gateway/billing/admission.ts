/**
 * Billing on the path of a request, without a database write:
 * admitted before anything is sent, charged once. Reasons: docs/adr/0013-charges.md
 */
import { abilitiesFor, type LineLessons, type Model, type PriceRow, priceAt } from '../../catalog/index.ts';
import * as core from '../../core/index.ts';
import type { HubUsage } from '../../dialects/index.ts';
import * as ledger from '../../ledger/index.ts';
import type { Call } from '../../platform/web/index.ts';
import type { Limiter, Pool } from '../../providers/pool/index.ts';
import { type ChosenTier, dearTiers, inferenceRow, PROVIDER_TIERS } from '../../rules/index.ts';
import type { Caller } from '../caller.ts';
import { withAdvice } from './advice.ts';
import { byKind, type CallFacts, type ImageCount, requestFacts } from './call-facts.ts';
import { exceededBy } from './exceeded.ts';
import type { AttemptFailure } from './failed-usage.ts';
import * as models from './other-models.ts';

export interface Quote extends models.Priced {
  readonly maxCost: core.Nanos;
  /** What it reserves for. */
  readonly counts: ledger.RequestFacts;
  /** Beside the standard one. */
  readonly tiers: readonly string[];
  readonly tier: ChosenTier | undefined;
  readonly multipliers: readonly bigint[];
  readonly others: readonly models.PricedModel[];
}

export interface SettledBy extends models.ReplySource {
  readonly account: models.ServingAccount;
  readonly images?: ImageCount | undefined;
  readonly reported?: HubUsage | undefined;
}

export interface FailedBy extends models.ReplySource {
  readonly account: models.ServingAccount;
  readonly fault: AttemptFailure;
  readonly images?: ImageCount | undefined;
}

/** The right to make one upstream call. Ends once, with a charge or without; what comes later has no effect. */
export interface Admission {
  /** Charges the usage. `reported` is the part of an estimated one that the provider reported. */
  settle(usage: HubUsage, from: SettledBy): void;
  /** Books what an attempt has cost the operator that failed. The caller pays nothing for it, and the call may go on. */
  bookFailed(usage: HubUsage, by: FailedBy): void;
  release(): void;
  /**
   * Resolves once the usage record is on disk, or could not be written:
   * the response is paid for and must still be delivered.
   */
  flushed(): Promise<void>;
}

const FREE_ADMISSION: Admission = {
  settle: () => {},
  bookFailed: () => {},
  release: () => {},
  flushed: () => Promise.resolve(),
};

export interface BillingServices {
  readonly metering: ledger.Metering;
  readonly limiter: Limiter;
  readonly pool: Pool;
  readonly clock: core.Clock;
  readonly lessons: Pick<LineLessons, 'learn'>;
}

export class Billing {
  readonly #services: BillingServices;
  readonly #rates = new Map<bigint, ledger.Rates>();

  constructor(services: BillingServices) {
    this.#services = services;
  }

  /** Without a promise when the wallet lease at hand covers the call. Throws or rejects as `Metering.admit` does. */
  admit(call: Call, caller: Caller, given: CallFacts): core.MaybePromise<Admission> {
    const facts = call.isBatch ? { ...given, isBatch: true } : given;
    if (inferenceRow(facts.operation).billing === 'free') return FREE_ADMISSION;
    ledger.crashPoint('call.admitting');
    const services = this.#services;
    const { key } = caller;
    const quote = this.quote(caller, facts);
    const reserved = this.advised(caller, facts, () => services.metering.admit(key.userId, quote.maxCost, key));
    const open = (reservation: ledger.Reservation): Admission => {
      ledger.crashPoint('call.admitted');
      return new ReservedAdmission({ call, caller, facts, reservation, quote, services });
    };
    return core.whenReady(reserved, open);
  }

  /**
   * The price of a request and the most that it can cost.
   * Throws when the model, or the tier that the request chooses, has none.
   */
  quote(caller: Caller, facts: CallFacts): Quote {
    return quoteCall(caller, facts, this.#services.clock.now(), ({ id, rates }) => this.#ratesOf(id, rates));
  }

  /** Runs an admission. Where the balance is short, its rejection says what would be admitted. */
  advised<R extends core.MaybePromise<unknown>>(caller: Caller, facts: CallFacts, admit: () => R): R {
    return withAdvice(admit, (changed) => this.quote(caller, changed).maxCost, facts);
  }

  /** Throws or rejects when the amount does not fit the spend limits of the key and its user. */
  checkSpend({ key }: Caller, nanos: core.Nanos): core.MaybePromise<void> {
    return this.#services.metering.checkSpend(key, nanos);
  }

  #ratesOf(priceId: bigint, stored: unknown): ledger.Rates {
    let rates = this.#rates.get(priceId);
    if (!rates) {
      rates = ledger.parseRates(stored);
      this.#rates.set(priceId, rates);
    }
    return rates;
  }
}

const factsFor = ({ maxOutput, otherOutput = 0, ...facts }: CallFacts, model: Model): CallFacts => ({
  ...facts,
  model,
  maxOutput: maxOutput && Math.max(maxOutput, otherOutput),
});

/** As `Billing.quote`, at any time and without its memory of parsed rates. */
export function quoteCall(
  { key, group }: Caller,
  facts: CallFacts,
  now: number,
  ratesOf: (price: PriceRow) => ledger.Rates = ({ rates }) => ledger.parseRates(rates),
): Quote {
  const unknown = facts.unknown ?? facts.dropped;
  // An operator may prefer a clear refusal to a large reservation.
  if (unknown !== undefined && group.unknownMembers === 'reject') {
    const why = 'this gateway does not know it, and cannot tell what it costs; leave it out.';
    throw core.failAt('unsupported_parameter', unknown, why);
  }
  const priceOf = (model: Model, param: string): models.Priced => {
    const price = priceAt(model.line, now);
    // No price, or only an announced one. Serving it would give it away.
    if (!price && !model.line.isFree)
      throw core.failAt(
        'model_not_priced',
        param,
        `"${model.name.slice(0, 100)}" has no price yet; ask the operator of this gateway.`,
      );
    return { rates: price ? ratesOf(price) : {}, priceId: price?.id ?? null };
  };
  const { rates, priceId } = priceOf(facts.model, 'model');
  const tier = priceId === null ? undefined : chosenTier(facts, rates);
  const multipliers = [group.multiplierPpm, key.userMultiplierPpm];
  const counts = requestFacts(group, facts, abilitiesFor(facts.model, rates));
  const maxOf = (one: ledger.Rates): core.Nanos => ledger.maxCostOf(counts, one, multipliers);
  const tiers = reachableTiers(facts, { tier, rates });
  // Without a binding, the provider may serve the standard tier in place of the chosen one.
  const isBound = tier?.isBinding === true || tier === BATCH_TIER;
  const least = (isBound && rates.tiers?.get(tier.tier ?? '')) || rates;
  const costs = tiers.map((name) => maxOf(ledger.ratesOfTier(rates, name, maxOf)));
  const maxCost = costs.reduce((most, cost) => (cost > most ? cost : most), maxOf(least));
  const others = (facts.others ?? []).map((one) => ({ ...one, ...priceOf(one.model, one.path) }));
  const otherCosts = others.map((one) => ({
    path: one.path,
    nanos: ledger.maxCostOf(
      requestFacts(group, factsFor(facts, one.model), abilitiesFor(one.model, one.rates)),
      one.rates,
      multipliers,
    ),
  }));
  return { maxCost: models.maxOfAll(maxCost, otherCosts), counts, tiers, rates, tier, multipliers, priceId, others };
}

/** A tier without a price would be served at the standard price, which may be far below what it costs the operator. */
function chosenTier({ tiers: named = [], model, isBatch }: CallFacts, rates: ledger.Rates): ChosenTier | undefined {
  const tiers = dearTiers(named);
  const [first, second] = tiers;
  const unpriced = tiers.find(({ tier }) => tier === undefined || !rates.tiers?.has(tier));
  if (unpriced)
    throw core.failAt(
      'unsupported_parameter',
      unpriced.field,
      `this tier has no price for "${model.name.slice(0, 100)}"; leave the field out, or use the standard tier.`,
    );
  if (second) {
    const text = `${first?.field} chooses a tier already; leave one of them out.`;
    throw core.failAt('unsupported_parameter', second.field, text);
  }
  return first ?? (isBatch && rates.tiers?.has('batch') ? BATCH_TIER : undefined);
}

/**
 * The tiers that the provider may serve beside the standard one. Where the request leaves the tier open, or asks for
 * one without binding it, the provider chooses; what is not known may choose a tier too.
 */
function reachableTiers({ unknown, tiers = [], isBatch, model }: CallFacts, { tier, rates }: TierChoice): string[] {
  const chosen = tier?.tier === undefined ? [] : [tier.tier];
  if (unknown !== undefined) return [...new Set([...chosen, ...(rates.tiers?.keys() ?? [])])];
  const isFixed = tier?.isBinding || isBatch || (!tier && tiers.length > 0);
  if (isFixed) return chosen;
  const priced = PROVIDER_TIERS.filter((name) => rates.tiers?.has(name));
  return [...new Set([...chosen, ...priced, ...model.line.learned.tiers])];
}
type TierChoice = Pick<Quote, 'tier' | 'rates'>;

/** Of a request of a batch that chooses none. */
const BATCH_TIER: ChosenTier = { field: 'batch', tier: 'batch', isBinding: false };

/**
 * The provider may serve another tier than the request chose, and reports it. Without a report, the chosen one is
 * charged. It serves a request of a batch as any other, so that a report of the standard tier says nothing.
 */
function withTier<U extends HubUsage>(usage: U, { tier: choice, rates }: Pick<Quote, 'tier' | 'rates'>): U {
  if (!choice?.tier) return usage;
  const isOpen = choice === BATCH_TIER ? !rates.tiers?.has(usage.tier ?? '') : usage.tier === undefined;
  return choice.isBinding || isOpen ? { ...usage, tier: choice.tier } : usage;
}

interface ReservedCall {
  readonly call: Call;
  readonly caller: Caller;
  readonly facts: CallFacts;
  readonly reservation: ledger.Reservation;
  readonly quote: Quote;
  readonly services: BillingServices;
}

type MadeBy = Pick<ledger.UsageRecord, 'accountId' | 'usage' | 'images' | 'nanos' | 'priceId' | 'estimated' | 'fault'>;

class ReservedAdmission implements Admission {
  readonly #reserved: ReservedCall;
  #isOpen = true;

  constructor(reserved: ReservedCall) {
    this.#reserved = reserved;
  }

  settle(given: HubUsage, from: SettledBy): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const { images, reported } = from;
    const accountId = from.account.id;
    const { call, caller, reservation, quote, services } = this.#reserved;
    const { multipliers } = quote;
    const { usage, rates, priceId, ratesOf } = this.#priced(given, from);
    const estimated = given.estimated === true;
    services.limiter.count(caller.key, usage.input + usage.output);
    services.pool.usage.count(accountId, usage.input + usage.output);
    const cost = usage.invalid === undefined ? ledger.costOf(usage, rates, multipliers, ratesOf).nanos : 0n;
    const nanos = estimated && cost > quote.maxCost ? this.#mostFor(reported) : cost;
    this.#learn(usage, cost > quote.maxCost);
    call.addLogFields({ cost: core.formatNanos(nanos), ...(estimated && { estimated }) });
    call.trace.charge = { usage, nanos, priceId, estimated, accountId, multipliersPpm: multipliers };
    reservation.settle(this.#recordOf({ accountId, usage, images: images?.count ?? 0, nanos, priceId, estimated }));
  }

  bookFailed(given: HubUsage, by: FailedBy): void {
    if (!this.#isOpen) return;
    const { images, fault } = by;
    const accountId = by.account.id;
    const { call, services } = this.#reserved;
    const { usage, priceId } = this.#priced(given, by);
    const estimated = given.estimated === true;
    const made = { accountId, usage, images: images?.count ?? 0, nanos: 0n, priceId, estimated, fault };
    const record = this.#recordOf(made);
    // A report that cannot be believed says nothing about the cost, and nobody has to decide on its charge.
    if (record.invalid !== undefined) return;
    services.pool.usage.count(accountId, usage.input + usage.output);
    call.trace.spendInVain({ accountId, usage, priceId, estimated });
    services.metering.recordFailed(record);
  }

  #priced(given: HubUsage, from: models.ReplySource & Pick<SettledBy, 'images'>) {
    const { facts, quote } = this.#reserved;
    const used = withTier(from.images ? { ...given, images: byKind(from.images) } : given, quote);
    return models.pricedUsage(used, { ...quote, model: facts.model }, from);
  }

  #recordOf(made: MadeBy): ledger.UsageRecord {
    const { call, caller, facts, services } = this.#reserved;
    return ledger.createUsageRecord({
      id: ledger.newRecordId(),
      at: services.clock.now(),
      userId: caller.key.userId,
      keyId: caller.key.id,
      groupId: caller.group.id,
      model: facts.model.name,
      operation: facts.operation,
      requestId: call.id,
      ...made,
    });
  }

  /** What the reply shows of its model, so that the next call reserves for it. */
  #learn(usage: ledger.MeteredUsage, isPassed: boolean): void {
    const { facts, caller, quote, services } = this.#reserved;
    // Several models made it, or another one than the line knows.
    if (usage.models || usage.replyModel !== undefined || quote.others.length > 0) return;
    const exceeded = exceededBy(usage, { ...quote, isPassed });
    if (exceeded) services.lessons.learn({ line: facts.model.line, group: caller.group.id, ...exceeded });
  }

  /** What is reported is charged in full, but nothing is guessed beyond what was reserved. */
  #mostFor(reported: HubUsage | undefined): core.Nanos {
    const { quote } = this.#reserved;
    const { maxCost, rates, multipliers } = quote;
    const cost = reported ? ledger.costOf(withTier(reported, quote), rates, multipliers).nanos : 0n;
    return cost > maxCost ? cost : maxCost;
  }

  release(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#reserved.reservation.release();
  }

  flushed(): Promise<void> {
    return ledger.crashPointAfter(this.#reserved.services.metering.whenWrittenOrFailed(), 'call.written');
  }
}
