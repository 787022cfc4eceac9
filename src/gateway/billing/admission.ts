/**
 * Money on the path of a call: admitted against the balance before anything is sent, charged once by what the upstream reported, and
 * on disk before the answer ends. Makes no database write; what the ledger does behind it is in src/ledger.
 */
import { type Model, priceAt } from '../../catalog/index.ts';
import { type Clock, formatNanos } from '../../core/index.ts';
import type { HubUsage } from '../../dialects/index.ts';
import {
  costOf,
  type Metering,
  maxCostOf,
  newRecordId,
  type OnStep,
  parseRates,
  type Rates,
  type Reservation,
} from '../../ledger/index.ts';
import type { Limiter } from '../../pool/index.ts';
import type { TextOperation } from '../../rules/index.ts';
import type { Call } from '../../web/index.ts';
import type { Caller } from '../caller.ts';

/** What is known of a call before it is sent. */
export interface CallFacts {
  readonly operation: TextOperation;
  readonly model: Model;
  readonly bodyBytes: number;
  /** The most it may write, where the request says so. */
  readonly maxOutput?: number | undefined;
  readonly images?: ImageCount | undefined;
}

/** Pictures that were asked for: "1024x1024/high", and how many. */
export interface ImageCount {
  readonly kind: string;
  readonly count: number;
}

/** The right to make one call. Ends once, by a charge or without one; later words are ignored. */
export interface Admission {
  /** Charges what was used. */
  settle(usage: HubUsage, from: { accountId: string; images?: ImageCount }): void;
  release(): void;
  /** What was settled survives the end of this process, or the disk refuses, for which no answer suffers that was paid for. */
  flushed(): Promise<void>;
}

/** Counting, lists and stored responses are free. */
const BILLED: ReadonlySet<TextOperation> = new Set<TextOperation>([
  'messages.create',
  'chat.create',
  'responses.create',
  'responses.compact',
  'embeddings.create',
  'images.generate',
  'images.edit',
  'generate.create',
  'generate.stream',
]);
/** Reserved for answers whose request sets no limit; a longer one is charged in full all the same. */
const DEFAULT_MAX_OUTPUT = 32_000;
const FREE_ADMISSION: Admission = { settle: () => {}, release: () => {}, flushed: () => Promise.resolve() };

export class Billing {
  readonly #metering: Metering;
  readonly #limiter: Limiter;
  readonly #clock: Clock;
  readonly #onStep: OnStep | undefined;
  readonly #rates = new Map<bigint, Rates>();

  constructor(metering: Metering, limiter: Limiter, clock: Clock, onStep?: OnStep) {
    this.#metering = metering;
    this.#limiter = limiter;
    this.#clock = clock;
    this.#onStep = onStep;
  }

  /** At once when the allowance at hand covers the call, as it mostly does; throws or rejects as `Metering.admit` does. */
  admit(call: Call, caller: Caller, facts: CallFacts): Admission | Promise<Admission> {
    if (!BILLED.has(facts.operation)) return FREE_ADMISSION;
    this.#onStep?.('call.admitting');
    const price = priceAt(facts.model.line, this.#clock.now());
    const rates = price ? this.#ratesOf(price.id, price.rates) : {};
    const multipliers = [caller.group.multiplierPpm, caller.key.userMultiplierPpm];
    const maxOutput = facts.maxOutput ?? Math.min(DEFAULT_MAX_OUTPUT, facts.model.line.maxOutput ?? DEFAULT_MAX_OUTPUT);
    const context = facts.model.line.context;
    const bound = maxCostOf(
      {
        bodyBytes: facts.bodyBytes,
        maxOutput,
        ...(context !== null && { context }),
        ...(facts.images && { images: byKind(facts.images) }),
      },
      rates,
      multipliers,
    );
    const admitted = this.#metering.admit(caller.key.userId, bound, caller.key);
    const open = (reservation: Reservation): Admission =>
      this.#ticket(call, caller, facts, { reservation, rates, multipliers, priceId: price?.id ?? null });
    return admitted instanceof Promise ? admitted.then(open) : open(admitted);
  }

  #ticket(
    call: Call,
    { key, group }: Caller,
    { operation, model }: CallFacts,
    {
      reservation,
      rates,
      multipliers,
      priceId,
    }: { reservation: Reservation; rates: Rates; multipliers: readonly bigint[]; priceId: bigint | null },
  ): Admission {
    let isOpen = true;
    this.#onStep?.('call.admitted');
    return {
      settle: (reported, { accountId, images }) => {
        if (!isOpen) return;
        isOpen = false;
        const usage = images ? { ...reported, images: byKind(images) } : reported;
        const estimated = reported.estimated === true;
        this.#limiter.count(key, usage.input + usage.output);
        const nanos = usage.invalid === undefined ? costOf(usage, rates, multipliers).nanos : 0n;
        call.addLogFields({ cost: formatNanos(nanos), ...(estimated && { estimated }) });
        reservation.settle({
          id: newRecordId(),
          at: this.#clock.now(),
          userId: key.userId,
          keyId: key.id,
          groupId: group.id,
          accountId,
          model: model.name,
          operation,
          usage,
          images: images?.count ?? 0,
          nanos,
          priceId,
          estimated,
          requestId: call.id,
        });
      },
      release: () => {
        if (!isOpen) return;
        isOpen = false;
        reservation.release();
      },
      flushed: () => {
        const tried = this.#metering.flushedOrFailed();
        const onStep = this.#onStep;
        return onStep ? tried.then(() => onStep('call.flushed')) : tried;
      },
    };
  }

  #ratesOf(priceId: bigint, stored: unknown): Rates {
    let rates = this.#rates.get(priceId);
    if (!rates) {
      rates = parseRates(stored);
      this.#rates.set(priceId, rates);
    }
    return rates;
  }
}

const byKind = ({ kind, count }: ImageCount): Record<string, number> => ({ [kind]: count });

/** For answers that never said what they cost: four bytes are about a token. Flagged wherever it is shown. */
export const roughUsage = (inputBytes: number, outputBytes: number): HubUsage => ({
  input: Math.ceil(inputBytes / 4),
  cacheRead: 0,
  cacheWrite: 0,
  output: Math.ceil(outputBytes / 4),
  estimated: true,
});
