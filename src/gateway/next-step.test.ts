import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Account } from '../catalog/index.ts';
import { type ApiError, fail } from '../core/index.ts';
import type { Fault } from '../dialects/index.ts';
import { FAILOVER, FALLBACK, FAULTS, type FaultKind, faultRow } from '../rules/index.ts';
import { WayUnavailable } from './client-error.ts';
import { attemptCount, begin, type CallProgress, next, type Outcome, onlyReady } from './next-step.ts';

/** What an account does with an attempt, after so many milliseconds. */
interface Reply {
  readonly fault: FaultKind | undefined;
  /** The rest of a request of which a part was rejected is accepted by nobody twice. */
  readonly ms: number;
}
interface SimulatedAccount {
  readonly isCooling: boolean;
  readonly isFull: boolean;
  readonly reply: Reply;
}
interface World {
  /** Ways of the own group, and then one for each fallback line. */
  readonly own: readonly (readonly SimulatedAccount[])[];
  readonly lines: readonly (readonly SimulatedAccount[])[];
  readonly isOnce: boolean;
  readonly hasRetries: boolean;
  readonly slotFrees: boolean;
}

const kinds = fc.constantFrom(...(Object.keys(FAULTS) as FaultKind[]));
const account: fc.Arbitrary<SimulatedAccount> = fc.record({
  isCooling: fc.boolean(),
  isFull: fc.boolean(),
  reply: fc.record({
    fault: fc.option(kinds, { nil: undefined }),
    ms: fc.constantFrom(1, 1_000, 29_000, FALLBACK.withinMs),
  }),
});
const ways = (maxLength: number) => fc.array(fc.array(account, { maxLength: 4 }), { maxLength });
const worlds: fc.Arbitrary<World> = fc.record({
  own: ways(2).filter(({ length }) => length > 0),
  lines: ways(4),
  isOnce: fc.boolean(),
  hasRetries: fc.boolean(),
  slotFrees: fc.boolean(),
});

const faultOf = (kind: FaultKind): Fault => ({ kind, error: { code: 'upstream_error', message: 'no' } });

interface Attempted {
  readonly way: number;
  readonly group: string;
  readonly accountId: string;
  readonly ms: number;
}

/** One life of a call in virtual time: the effects of `attempts.ts` and `try-ways.ts` as a table of accounts. */
class Life {
  readonly attempts: Attempted[] = [];
  /** Attempts that the same account got for the rest of a request. */
  readonly repeated: Attempted[] = [];
  readonly #world: World;
  readonly #accounts: ReadonlyMap<string, SimulatedAccount>;
  readonly #inWay: readonly (readonly Account[])[];
  readonly #partial = new Set<string>();
  progress: CallProgress;
  ms = 0;
  isServed = false;

  constructor(world: World) {
    this.#world = world;
    const all = [...world.own, ...world.lines];
    this.#accounts = new Map(all.flatMap((list, way) => list.map((one, n) => [`${way}-${n}`, one] as const)));
    this.#inWay = all.map((list, way) => list.map((_, n) => ({ id: `${way}-${n}` }) as Account));
    const wayIn = (id: string, isFallback: boolean) => ({
      caller: { group: { id }, ...(isFallback && { fallback: {} }) },
    });
    this.progress = begin({
      ways: [...world.own.map(() => wayIn('own', false)), ...world.lines.map((_, n) => wayIn(`line ${n}`, true))],
      refusal: undefined,
    });
  }

  tell(outcome: Outcome): void {
    this.progress = next(this.progress, outcome, this.ms);
    const { step } = this.progress;
    if (step.kind === 'attempt' && step.isRetry && !this.#world.hasRetries) this.tell({ kind: 'no retry' });
  }

  run(): ApiError | undefined {
    for (let n = 0; n < 1_000; n += 1) {
      const { step, at } = this.progress;
      if (step.kind === 'none') return undefined;
      if (step.kind === 'refuse') return step.error ?? assert.fail('a refusal without an error');
      if (step.kind === 'reject') {
        if (this.progress.order.ways[at]?.caller.fallback === undefined) return fail('invalid_request');
        this.tell({ kind: 'over', error: new WayUnavailable(fail('invalid_request')) });
      } else this.#take(step);
    }
    return assert.fail('the call does not end');
  }

  #take(step: CallProgress['step']): void {
    const { at } = this.progress;
    if (step.kind === 'enter')
      this.tell({ kind: 'opened', accounts: this.#inWay[at] ?? assert.fail('no such way'), operation: 'reply' });
    else if (step.kind === 'leave')
      this.tell({ kind: 'over', error: new WayUnavailable(step.error, step.because, step.isSkipped) });
    else if (step.kind === 'wait') {
      const first = step.accounts.find((one) => this.#isReady(one));
      if (first && this.#world.slotFrees) this.#send(first.id);
      else this.tell({ kind: 'no slot', retryMs: 5 });
    } else if (step.kind === 'attempt') this.#lend(step.accounts);
    else assert.fail(`unexpected ${step.kind}`);
  }

  #lend(accounts: readonly Account[]): void {
    if (!accounts.some((one) => this.#isReady(one))) return this.tell({ kind: 'cooling', retryMs: 5 });
    // What had the request before has its slot back.
    const isFull = ({ id }: Account) => this.#accounts.get(id)?.isFull && !this.#partial.has(id);
    const usable = accounts.filter((one) => !isFull(one) && this.#isReady(one));
    const wanted = usable.find(({ id }) => id === this.progress.again) ?? usable[0];
    if (wanted) this.#send(wanted.id);
    else this.tell({ kind: 'no account', none: { retryMs: 5, reason: 'full' } });
  }

  #isReady({ id }: Account): boolean {
    const { isCooling } = this.#accounts.get(id) ?? assert.fail('an account of no way');
    return !(isCooling && onlyReady(this.progress));
  }

  #send(accountId: string): void {
    const { at, order } = this.progress;
    const { fault, ms } = this.#accounts.get(accountId)?.reply ?? assert.fail('an account of no way');
    const group = order.ways[at]?.caller.group.id ?? assert.fail('no such way');
    const list = this.#partial.has(accountId) ? this.repeated : this.attempts;
    list.push({ way: at, group, accountId, ms: this.ms });
    this.tell({ kind: 'leased', accountId });
    this.ms += ms;
    if (!fault) {
      this.isServed = true;
      return this.tell({ kind: 'served' });
    }
    const isPartial = ['opaque_rejected', 'option_rejected'].includes(fault) && !this.#partial.has(accountId);
    if (isPartial) this.#partial.add(accountId);
    this.tell({ kind: 'fault', fault: faultOf(fault), isPartial, isOnce: this.#world.isOnce });
  }
}

const lifeOf = (world: World) => {
  const life = new Life(world);
  return { life, error: life.run() };
};

function replyIn(all: readonly (readonly SimulatedAccount[])[], accountId: string): Reply {
  const [way = 0, n = 0] = accountId.split('-').map(Number);
  return all[way]?.[n]?.reply ?? assert.fail('an account of no way');
}

const law = (check: (world: World, life: Life, error: ApiError | undefined) => void): void =>
  fc.assert(
    fc.property(worlds, (world) => {
      const { life, error } = lifeOf(world);
      check(world, life, error);
    }),
    { numRuns: 2_000 },
  );

test('a call makes at most three attempts in a group and six in all, whatever the order of events', () =>
  law((_world, { attempts }) => {
    const byGroup = Object.groupBy(attempts, ({ group }) => group);
    for (const inGroup of Object.values(byGroup)) assert.ok((inGroup?.length ?? 0) <= FAILOVER.attempts);
    assert.ok(attempts.length <= FALLBACK.attempts);
  }));

test('a call tries no account twice, except with the rest of a request of which its provider rejected a part', () =>
  law((_world, { attempts, repeated }) => {
    const ids = attempts.map(({ accountId }) => accountId);
    assert.equal(new Set(ids).size, ids.length);
    for (const { accountId } of repeated) assert.ok(ids.includes(accountId));
    assert.equal(new Set(repeated).size, repeated.length);
  }));

test('no attempt begins after the time of a group or of the call, and none without the retries of the process', () =>
  law(({ hasRetries }, { attempts }) => {
    const startOf = (group: string) => attempts.find((one) => one.group === group)?.ms ?? 0;
    for (const { group, ms } of attempts) {
      assert.ok(ms - startOf(group) <= FAILOVER.withinMs.reply);
      assert.ok(group === 'own' || startOf(group) <= FALLBACK.withinMs, 'none on a further line');
      if (!hasRetries) assert.equal(attempts.filter((one) => one.group === group).length, 1);
    }
  }));

test('nothing follows a response, a fault of the request in the own group, or one that may have been accepted and is sent once', () =>
  law(({ own, lines, isOnce }, { attempts, repeated, isServed }, error) => {
    assert.equal(error === undefined, isServed);
    for (const [n, { accountId, group }] of attempts.entries()) {
      const { fault } = replyIn([...own, ...lines], accountId);
      const isLast = n === attempts.length - 1;
      const hasRest = fault === 'opaque_rejected' || fault === 'option_rejected';
      if (!fault) assert.ok(isLast);
      else if (hasRest && !repeated.some((one) => one.accountId === accountId)) continue;
      else if (!faultRow(fault).failover && group === 'own') assert.ok(isLast, fault);
      else if (isOnce && faultRow(fault).maybeAccepted && fault !== 'no_result') assert.ok(isLast, fault);
    }
    assert.ok(repeated.length <= attempts.length);
  }));

test('a call is refused only when the request is at fault or every account that could serve it is out of attempts, time or retries', () =>
  law(({ own, lines, isOnce, hasRetries }, { attempts, ms: endMs }, error) => {
    if (!error) return;
    const all = [...own, ...lines];
    // A fault of the request ends the call in the own group, and a line in any other.
    const rejectedIn = new Set(
      attempts.flatMap(({ accountId, group }) => {
        const { fault } = replyIn(all, accountId);
        if (!fault) return [];
        const { failover, maybeAccepted } = faultRow(fault);
        if (isOnce && maybeAccepted) return ['own'];
        return failover && fault !== 'forbidden' ? [] : [group];
      }),
    );
    if (rejectedIn.has('own')) return;
    const usedBy = (group: string) => attempts.filter((one) => one.group === group);
    for (const [way, accounts] of all.entries())
      for (const [n, { isCooling, isFull, reply }] of accounts.entries()) {
        const accountId = `${way}-${n}`;
        if (isCooling || isFull || reply.fault || attempts.some((one) => one.accountId === accountId)) continue;
        const group = way < own.length ? 'own' : `line ${way - own.length}`;
        const used = usedBy(group);
        if (rejectedIn.has(group)) continue;
        const isOutOfTime =
          (used[0] && endMs - used[0].ms > FAILOVER.withinMs.reply) ||
          (group !== 'own' && endMs - (attempts[0]?.ms ?? 0) > FALLBACK.withinMs);
        const isSpent = used.length >= FAILOVER.attempts || attempts.length >= FALLBACK.attempts;
        assert.ok(isSpent || isOutOfTime || (!hasRetries && used.length > 0), `${accountId} could have served`);
      }
  }));

test('ready accounts of all ways come before those that are cooling down, and the ways in the order of the plan', () =>
  law(({ own, lines }, { attempts }) => {
    const all = [...own, ...lines];
    const isCooling = ({ accountId }: Attempted) => {
      const [way = 0, n = 0] = accountId.split('-').map(Number);
      return all[way]?.[n]?.isCooling === true;
    };
    const inFirst = attempts.filter((one) => !isCooling(one));
    const places = inFirst.map(({ way }) => way);
    if (all.length > 1 && all.flat().every(({ isFull }) => !isFull))
      assert.deepEqual(places, places.toSorted(), 'the order of the plan');
    for (const { way } of attempts) assert.ok(way < all.length);
  }));

test('the client gets the error of the best way', () => {
  const refused = (kind: FaultKind): SimulatedAccount => ({
    isCooling: false,
    isFull: false,
    reply: { fault: kind, ms: 1 },
  });
  const world = { isOnce: false, hasRetries: true, slotFrees: false };
  const { error } = lifeOf({
    ...world,
    own: [[refused('timeout')]],
    lines: [[refused('failed')], [refused('request')]],
  });
  assert.equal(error?.code, 'upstream_timeout');
});

test('each round of a reply begins with all attempts', () => {
  let progress = begin({ ways: [{ caller: { group: { id: 'own' } } }], refusal: undefined });
  const accounts = ['a', 'b', 'c', 'd'].map((id) => ({ id }) as Account);
  const tell = (outcome: Outcome) => {
    progress = next(progress, outcome, 0);
    return progress.step.kind;
  };
  for (const round of [1, 2]) {
    assert.equal(tell({ kind: 'opened', accounts, operation: 'reply' }), 'attempt', `round ${round}`);
    for (const accountId of ['a', 'b']) {
      tell({ kind: 'leased', accountId });
      assert.equal(tell({ kind: 'fault', fault: faultOf('failed'), isPartial: false, isOnce: false }), 'attempt');
    }
    tell({ kind: 'leased', accountId: 'c' });
    assert.equal(tell({ kind: 'served' }), 'none');
    assert.equal(attemptCount(progress), 0);
  }
});
