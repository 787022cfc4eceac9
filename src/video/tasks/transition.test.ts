import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runs, SEED } from '../../../test/support/properties.ts';
import { seededRandom } from '../../../test/support/random.ts';
import {
  CHECK_INTERVALS,
  CHECK_JITTER,
  canMove,
  isTerminal,
  MISSING,
  REVIEW,
  TASK_STATUSES,
  type TaskStatus,
} from '../../rules/index.ts';
import type { ReportedTask } from '../upstream/client.ts';
import { type TaskEvent, type TaskFacts, type Transition, transition } from './transition.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** The number of the contract (V 3). */
const GRACE = 15 * MINUTE;
const CREATED = Date.UTC(2026, 10, 15);

const task = (more: Partial<TaskFacts> = {}): TaskFacts => ({
  status: 'queued',
  createdAt: CREATED,
  expiresAt: CREATED + 2 * DAY,
  missingReports: 0,
  missingSince: undefined,
  reviewUntil: undefined,
  usageTokens: undefined,
  ...more,
});

const NOTHING: ReportedTask = {
  id: 'cgt-1',
  status: '',
  model: undefined,
  createdAt: undefined,
  safetyIdentifier: undefined,
  error: undefined,
  videoUrl: undefined,
  lastFrameUrl: undefined,
  usageTokens: undefined,
  duration: undefined,
  resolution: undefined,
  ratio: undefined,
  seed: undefined,
  framespersecond: undefined,
};
const reported = (status: string, more: Partial<ReportedTask> = {}): TaskEvent => ({
  kind: 'found',
  value: { ...NOTHING, status, ...more },
});
const success = (usageTokens?: number): TaskEvent =>
  reported('succeeded', { videoUrl: 'https://results.example.test/1.mp4', usageTokens });
const MISSED: TaskEvent = { kind: 'missing' };
const UNREACHABLE: TaskEvent = { kind: 'failed', status: undefined };

const after = (facts: TaskFacts, event: TaskEvent, ms = 10_000, random = 0.5): Transition =>
  transition(facts, event, CREATED + ms, random);

/** Status, hold and whether there is a next check. */
const outline = ({ to, hold, nextCheckMs }: Transition) => [to, hold, nextCheckMs !== undefined];

test('V 3: a queued or running task moves to every status that the provider may report, and no other', () => {
  for (const from of ['queued', 'running'] as const)
    for (const to of TASK_STATUSES) {
      const change = after(task({ status: from }), to === 'succeeded' ? success(1) : reported(to));
      assert.equal(change.to, canMove(from, to) ? to : undefined, `${from} -> ${to}`);
      assert.equal(change.nextCheckMs === undefined, change.to !== undefined && isTerminal(change.to));
    }
});

/** What each report does to a queued and to a running task, and to the hold: the table of docs/video.md. */
const MOVES: readonly (readonly [string, TaskEvent, string, string, Transition['hold']])[] = [
  ['queued', reported('queued'), '-', '-', 'keep'],
  ['running', reported('running'), 'running', '-', 'keep'],
  ['succeeded', success(7), 'succeeded', 'succeeded', 'settle'],
  ['succeeded without usage', success(), 'succeeded', 'succeeded', 'review'],
  ['succeeded without a video', reported('succeeded', { usageTokens: 7 }), '-', '-', 'keep'],
  ['an unknown status', reported('archived'), '-', '-', 'keep'],
  ['failed', reported('failed'), 'failed', 'failed', 'release'],
  ['expired', reported('expired'), 'expired', 'expired', 'release'],
  ['cancelled', reported('cancelled'), 'cancelled', 'cancelled', 'release'],
  ['missing', MISSED, '-', '-', 'keep'],
  ['unreachable', UNREACHABLE, '-', '-', 'keep'],
];

test('V 3, V 8: every report moves a task as documented, and every end releases, settles or reviews its hold', () => {
  for (const [about, event, fromQueued, fromRunning, hold] of MOVES)
    for (const [status, to] of [
      ['queued', fromQueued],
      ['running', fromRunning],
    ] as const) {
      const change = after(task({ status }), event);
      assert.deepEqual([change.to ?? '-', change.hold], [to, hold], `${status}: ${about}`);
      const isOver = change.to !== undefined && isTerminal(change.to) && hold !== 'review';
      assert.equal(change.nextCheckMs === undefined, isOver, `${status}: ${about}: next check`);
      // Whatever does not end the task does so after its time.
      const late = after(task({ status }), event, 2 * DAY + GRACE);
      assert.ok(late.to !== undefined && isTerminal(late.to) && late.hold !== 'keep', `${status}: ${about}, late`);
    }
});

test('V 3: a terminal status is final, whatever is reported', () => {
  for (const status of TASK_STATUSES.filter(isTerminal))
    for (const event of [...TASK_STATUSES.map((to) => reported(to)), success(7), MISSED, UNREACHABLE]) {
      const change = after(task({ status }), event, 30 * DAY);
      assert.deepEqual(outline(change), [undefined, 'keep', false], status);
    }
});

test('V 3: a step back, an unknown status and the same status change nothing', () => {
  for (const event of [reported('queued'), reported('running'), reported('archived'), reported('constructor')]) {
    const change = after(task({ status: 'running' }), event);
    assert.deepEqual(outline(change), [undefined, 'keep', true]);
  }
});

test('V 3, V 8: a task that fails, expires or is cancelled releases its hold and has an error', () => {
  for (const [status, code] of [
    ['failed', 'upstream_error'],
    ['expired', 'task_expired'],
    ['cancelled', 'task_cancelled'],
  ] as const) {
    const change = after(task(), reported(status));
    assert.deepEqual(outline(change), [status, 'release', false]);
    assert.deepEqual([change.error?.code, change.usageTokens], [code, undefined]);
  }
});

test('V 8: a failed task is never charged, even with usage', () => {
  const change = after(task(), reported('failed', { usageTokens: 100 }));
  assert.deepEqual([change.hold, change.usageTokens], ['release', undefined]);
});

test('V 8: a success settles on the reported usage', () => {
  for (const tokens of [1, 50_638]) {
    const change = after(task({ status: 'running' }), success(tokens));
    assert.deepEqual(outline(change), ['succeeded', 'settle', false]);
    assert.equal(change.usageTokens, tokens);
  }
});

test('V 8: a success without usage goes to review and is asked about again', () => {
  const change = after(task({ status: 'running' }), success());
  assert.deepEqual(outline(change), ['succeeded', 'review', true]);
  assert.equal(change.usageTokens, undefined);
});

test('V 2: a success without a video is not a success yet', () => {
  const change = after(task({ status: 'running' }), reported('succeeded', { usageTokens: 5 }));
  assert.deepEqual(outline(change), [undefined, 'keep', true]);
});

const inReview = (more: Partial<TaskFacts> = {}) =>
  task({ status: 'succeeded', reviewUntil: CREATED + HOUR + REVIEW.forMs, ...more });

test('V 8: a review settles when usage appears, also after its end', () => {
  for (const ms of [2 * HOUR, 30 * DAY]) {
    const change = after(inReview(), success(42), ms);
    assert.deepEqual([...outline(change), change.usageTokens], [undefined, 'settle', false, 42]);
  }
});

test('V 8: a review goes on without usage until its end, then an operator decides', () => {
  for (const event of [success(), MISSED, UNREACHABLE, reported('failed'), reported('running', { usageTokens: 3 })]) {
    const open = after(inReview(), event, 2 * HOUR);
    assert.deepEqual(outline(open), [undefined, 'keep', true]);
    assert.equal(open.nextCheckMs, REVIEW.everyMs);
    assert.deepEqual(outline(after(inReview(), event, 2 * DAY)), [undefined, 'keep', false]);
  }
});

test('V 8: a review whose usage is known settles without another report', () => {
  for (const event of [MISSED, UNREACHABLE, success(), success(43)]) {
    const change = after(inReview({ usageTokens: 42 }), event, 2 * HOUR);
    assert.deepEqual([change.hold, change.usageTokens], ['settle', 42]);
  }
});

test('V 3: a task without a terminal report expires at its deadline and grace, not before', () => {
  const events = [reported('running'), reported('queued'), reported('whatever'), MISSED, UNREACHABLE];
  for (const event of events) {
    assert.notEqual(after(task(), event, 2 * DAY + GRACE - 1).to, 'expired');
    assert.deepEqual(outline(after(task(), event, 2 * DAY + GRACE)), ['expired', 'release', false]);
  }
  assert.equal(after(task(), success(9), 2 * DAY + GRACE).to, 'succeeded', 'the last check decides');
});

test('V 3: a missing task fails only after three reports in a row over ten minutes', () => {
  let facts = task({ status: 'running' });
  const check = (event: TaskEvent, ms: number): Transition => {
    const change = after(facts, event, ms);
    facts = { ...facts, missingReports: change.missing.reports, missingSince: change.missing.since };
    return change;
  };
  assert.equal(check(MISSED, 0).to, undefined);
  assert.equal(check(MISSED, MISSING.overMs).to, undefined, 'two reports');
  assert.equal(check(reported('running'), MISSING.overMs + 1).missing.reports, 0, 'a report ends the row');
  assert.equal(check(MISSED, HOUR).to, undefined);
  assert.equal(check(MISSED, HOUR + 1).to, undefined);
  assert.equal(check(UNREACHABLE, HOUR + 2).missing.reports, 2, 'no report neither counts nor ends the row');
  assert.equal(check(MISSED, HOUR + MISSING.overMs - 1).to, undefined, 'less than ten minutes');
  assert.deepEqual(outline(check(MISSED, HOUR + MISSING.overMs)), ['failed', 'release', false]);
  facts = task({ status: 'running' });
  for (const ms of [0, 1]) check(MISSED, ms);
  assert.equal(check(MISSED, MISSING.overMs).to, 'failed', 'the third report is enough');
});

test('V 3: a report that moves the task ends a row of missing reports', () => {
  const change = after(task({ missingReports: 2, missingSince: CREATED }), reported('running'), HOUR);
  assert.deepEqual(change.missing, { reports: 0, since: undefined });
});

test('intervals grow with the age of the task and vary by a fifth', () => {
  const ages = [
    [0, 5_000],
    [2 * MINUTE - 1, 5_000],
    [2 * MINUTE, 10_000],
    [10 * MINUTE, 20_000],
    [HOUR, 60_000],
    [DAY, 60_000],
  ] as const;
  for (const [age, every] of ages) {
    assert.equal(after(task(), UNREACHABLE, age, 0).nextCheckMs, every * (1 - CHECK_JITTER));
    assert.equal(after(task(), UNREACHABLE, age, 0.5).nextCheckMs, every);
    assert.ok((after(task(), UNREACHABLE, age, 0.999_999).nextCheckMs ?? 0) <= every * (1 + CHECK_JITTER));
  }
});

// ---------------------------------------------------------------- a week of lives

/** What a provider does in one life. Probabilities are per check. */
interface Provider {
  readonly progress: number;
  readonly end: number;
  readonly lies: number;
  readonly missing: number;
  readonly unreachable: number;
  /** Looks after the success until usage appears; infinite: never. */
  readonly usageDelay: number;
  readonly usage: number;
  readonly ends: TaskStatus;
  /** The caller cancels at this check. */
  readonly cancelAt: number;
}

type Random = (below?: number) => number;

function randomProvider(random: Random): Provider {
  const isStuck = random() < 0.04;
  const isGone = random() < 0.05;
  return {
    progress: isStuck ? 0.001 : 0.05 + random() * 0.5,
    end: isStuck ? 0 : 0.02 + random() * 0.3,
    lies: random() * 0.4,
    missing: isGone ? 0.9 : random() * 0.2,
    unreachable: random() * 0.4,
    usageDelay: random() < 0.05 ? Number.POSITIVE_INFINITY : random() < 0.2 ? random(20) : 0,
    usage: random() < 0.05 ? 0 : random(1_000_000),
    ends: random() < 0.6 ? 'succeeded' : ((['failed', 'expired', 'cancelled'] as const)[random(3)] ?? 'failed'),
    cancelAt: random() < 0.1 ? random(10) : Number.POSITIVE_INFINITY,
  };
}

const WORDS = [...TASK_STATUSES, 'processing', 'SUCCEEDED', '', 'toString', '__proto__'];

/** The reports of one life. The provider's own state only moves forwards; what it reports may be wrong. */
class HostileProvider {
  #status: TaskStatus = 'queued';
  #looksSinceEnd = 0;
  #checks = 0;
  readonly #plan: Provider;
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
    this.#plan = randomProvider(random);
  }

  report(): TaskEvent {
    const { progress, end, ends, lies, missing, unreachable, cancelAt, usageDelay, usage } = this.#plan;
    const random = this.#random;
    this.#checks += 1;
    if (this.#status === 'queued' && random() < progress) this.#status = 'running';
    if (this.#status === 'queued' && this.#checks >= cancelAt) this.#status = 'cancelled';
    if (this.#status === 'running' && random() < end) this.#status = ends === 'cancelled' ? 'failed' : ends;
    if (isTerminal(this.#status)) this.#looksSinceEnd += 1;
    if (random() < unreachable) return UNREACHABLE;
    if (random() < missing) return MISSED;
    if (random() < lies) return this.#lie();
    if (this.#status !== 'succeeded') return reported(this.#status);
    return success(this.#looksSinceEnd > usageDelay ? usage : undefined);
  }

  /**
   * A wrong word, or a step back.
   * A provider that reports an end too early is believed, because the gateway cannot know better.
   */
  #lie(): TaskEvent {
    const word = WORDS[this.#random(WORDS.length)] ?? '';
    if (TASK_STATUSES.some((status) => status === word) && isTerminal(word as TaskStatus))
      return this.#random() < 0.1 ? reported(word, { usageTokens: 5 }) : reported('queued');
    return reported(word);
  }
}

/** One life without a database: applies transitions as the follower does and checks each of them. */
class Life {
  facts: TaskFacts;
  version = 1;
  readonly versions: number[] = [];
  readonly outcomes: string[] = [];
  hold: 'held' | 'review' | 'settled' | 'released' = 'held';
  readonly #random: Random;
  #missedInRow = 0;
  #missedSince = 0;

  constructor(random: Random, createdAt: number) {
    this.#random = random;
    const expiresAfter = HOUR + random(71 * HOUR);
    this.facts = task({ createdAt, expiresAt: createdAt + expiresAfter });
  }

  /** Applies an event and returns the time until the next check. */
  apply(event: TaskEvent, now: number): number | undefined {
    const before = this.facts;
    const change = transition(before, event, now, this.#random());
    this.#countMissed(event, now);
    this.#checkMove(change, event, now);
    this.facts = {
      ...before,
      status: change.to ?? before.status,
      missingReports: change.missing.reports,
      missingSince: change.missing.since,
    };
    if (change.to) {
      this.version += 1;
      this.versions.push(this.version);
    }
    this.#applyHold(change, now);
    this.#checkNext(change, now);
    return change.nextCheckMs;
  }

  resolveByOperator(): void {
    this.outcomes.push('operator');
    this.hold = 'released';
    this.facts = { ...this.facts, reviewUntil: undefined };
  }

  #countMissed(event: TaskEvent, now: number): void {
    if (event.kind === 'found') this.#missedInRow = 0;
    if (event.kind !== 'missing') return;
    if (this.#missedInRow === 0) this.#missedSince = now;
    this.#missedInRow += 1;
  }

  #checkMove({ to, hold, usageTokens, error }: Transition, event: TaskEvent, now: number): void {
    const { status, expiresAt, reviewUntil } = this.facts;
    assert.ok(to === undefined || canMove(status, to), `${status} -> ${to}`);
    assert.equal(usageTokens !== undefined, hold === 'settle', 'usage only with a settlement');
    assert.ok(hold === 'keep' || !isTerminal(status) || reviewUntil !== undefined, 'money after the end');
    assert.ok(hold === 'keep' || this.hold === 'held' || this.hold === 'review', 'money moves twice');
    assert.equal(error !== undefined, to !== undefined && isTerminal(to) && to !== 'succeeded');
    const word = event.kind === 'found' ? event.value.status : undefined;
    if (to !== undefined && word !== to) {
      const wasMissing = this.#missedInRow >= MISSING.reports && now - this.#missedSince >= MISSING.overMs;
      if (to === 'failed') assert.ok(wasMissing, 'failed by too few bad checks');
      else assert.ok(to === 'expired' && now >= expiresAt + GRACE, `${to} without a report`);
    }
    if (to !== undefined && isTerminal(to) && to !== 'succeeded') assert.equal(hold, 'release');
    if (to === 'succeeded') assert.ok(hold === 'settle' || hold === 'review');
    const wasOpen = !isTerminal(status) && now >= expiresAt + GRACE;
    assert.ok(!wasOpen || to !== undefined, 'open after the deadline and grace');
  }

  #applyHold({ hold, usageTokens }: Transition, now: number): void {
    if (hold === 'keep') return;
    const isFromReview = this.hold === 'review';
    if (hold === 'review') {
      this.hold = 'review';
      this.facts = { ...this.facts, reviewUntil: now + REVIEW.forMs };
      return;
    }
    this.hold = hold === 'settle' ? 'settled' : 'released';
    this.outcomes.push(isFromReview ? `review->${hold}` : hold);
    if (hold === 'settle') this.facts = { ...this.facts, reviewUntil: undefined, usageTokens };
  }

  #checkNext({ nextCheckMs }: Transition, now: number): void {
    const { status, reviewUntil } = this.facts;
    const isLive = !isTerminal(status) || (reviewUntil !== undefined && now < reviewUntil);
    assert.equal(nextCheckMs !== undefined, isLive, `a next check of a ${status} task`);
    if (nextCheckMs === undefined) return;
    const longest = (reviewUntil === undefined ? (CHECK_INTERVALS.at(-1)?.everyMs ?? 0) : REVIEW.everyMs) * 1.2;
    assert.ok(nextCheckMs >= 4_000 && nextCheckMs <= longest, `the next check after ${nextCheckMs} ms`);
  }
}

/** Lives one task to its end. Looks may be late, doubled, or arrive after a newer one. */
function live(random: Random): Life {
  let now = CREATED + random(7 * DAY);
  const life = new Life(random, now);
  const provider = new HostileProvider(random);
  const end = now + 73 * HOUR + GRACE + REVIEW.forMs + HOUR;
  let stale: TaskEvent | undefined;
  for (;;) {
    const event = provider.report();
    const nextMs = life.apply(event, now);
    if (random() < 0.05) life.apply(event, now + random(1_000));
    if (stale && random() < 0.1) life.apply(stale, now + random(1_000));
    if (random() < 0.05) stale = event;
    if (isTerminal(life.facts.status) && life.facts.reviewUntil === undefined) break;
    if (life.hold === 'review' && now >= (life.facts.reviewUntil ?? 0)) {
      life.resolveByOperator();
      break;
    }
    now += nextMs ?? REVIEW.everyMs;
    // The worker was down for a while.
    if (random() < 0.002) now += random(6 * HOUR);
    assert.ok(now < end + 7 * HOUR * 50, 'a life that does not end');
  }
  for (let n = 0; n < 3; n += 1) assert.equal(life.apply(provider.report(), now + n * HOUR), undefined);
  return life;
}

test('V 3, V 8: a week of 10,000 lives at a hostile provider moves legally and resolves every hold once', () => {
  const next = seededRandom(SEED);
  const random: Random = (below) => {
    const share = next() / 2 ** 32;
    return below === undefined ? share : Math.floor(share * below);
  };
  const ends = new Map<string, number>();
  for (let n = 0; n < runs(10_000); n += 1) {
    const { outcomes, facts, versions, version, hold } = live(random);
    assert.equal(outcomes.length, 1, outcomes.join());
    const outcome = outcomes[0] ?? '';
    assert.equal(facts.status === 'succeeded', outcome !== 'release', `${facts.status}: ${outcome}`);
    assert.ok(hold === 'settled' || hold === 'released');
    assert.deepEqual(
      versions,
      versions.map((_, index) => index + 2),
    );
    assert.equal(version, versions.length + 1);
    const name = `${facts.status} ${outcome}`;
    ends.set(name, (ends.get(name) ?? 0) + 1);
  }
  for (const name of [
    'succeeded settle',
    'succeeded review->settle',
    'succeeded operator',
    'failed release',
    'expired release',
    'cancelled release',
  ])
    assert.ok((ends.get(name) ?? 0) > 0, `no life ends as ${name}`);
});
