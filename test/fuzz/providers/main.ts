/**
 * `npm run fuzz -- providers`: impolite providers behind the gateway, for clients of every dialect. Prints its seed, and for a failure the
 * shortest case with the command that repeats it and the line for `corpus.json`.
 *
 * `--seed 7` repeats a run, `--count 500` sets the number of cases, `--first 80` the number of the first one, `--minutes 10` ends it in time,
 * `--only 'chat>messages stream'` selects lanes, and `--case '{...}'` runs one case.
 */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { globalSetup, globalTeardown } from '../../setup.ts';
import { caseOf, type ProviderCase, shorter } from './case.ts';
import { checkCase } from './check.ts';
import { Stage, StageLane } from './stage.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    count: { type: 'string', default: '2000' },
    first: { type: 'string', default: '0' },
    minutes: { type: 'string', default: '60' },
    only: { type: 'string', default: '' },
    case: { type: 'string' },
  },
});
const [seed, count, first] = [values.seed, values.count, values.first].map(Number) as [number, number, number];
const endsAt = Date.now() + Number(values.minutes) * 60_000;
const only = new RegExp(values.only);
/** Failures of one cause are many; each is shortened by running it again. */
const MAX_FAILURES = 12;
const MAX_TRIES = 12;
/** They mostly wait for records. */
const LANES = 8;

const laneOf = ({ client, provider, mode }: ProviderCase): string => `${client}>${provider} ${mode}`;

process.stdout.write(
  `Seed ${seed}. To repeat this run: npm run fuzz -- providers --seed ${seed} --first ${first} --count ${count}\n`,
);
const crashes: unknown[] = [];

let number = 0;
const ids = new Map<string, number>();
const failures = new Set<string>();

await globalSetup();
const stage = await Stage.open();
process.on('uncaughtException', (error) => void crashes.push(error));
process.on('unhandledRejection', (error) => void crashes.push(error));
try {
  if (values.case === undefined) await runAll();
  else await runOne(JSON.parse(values.case) as ProviderCase, '', new StageLane(stage));
} finally {
  await stage.close();
  await globalTeardown();
}
process.exit(failures.size > 0 ? 1 : 0);

async function runAll(): Promise<void> {
  let [next, ran] = [first, 0];
  const runLane = async (): Promise<void> => {
    const lane = new StageLane(stage);
    while (next < first + count && failures.size < MAX_FAILURES && Date.now() < endsAt) {
      const n = next++;
      const one = caseOf(seed, n);
      if (!only.test(laneOf(one))) continue;
      await runOne(one, `npm run fuzz -- providers --seed ${seed} --first ${n} --count 1`, lane);
      ran += 1;
      if (ran % 500 === 0) process.stdout.write(`${ran} cases, ${failures.size} failures\n`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, runLane));
  process.stdout.write(`${ran} cases, ${failures.size} failures.\n`);
}

async function runOne(one: ProviderCase, command: string, lane: StageLane): Promise<void> {
  const failure = await check(one, lane);
  if (failure === undefined) return;
  const [shortest, why] = await shorten(one, failure, lane);
  // Of one cause, the first case is enough.
  const cause = `${shortest.mode} ${shortest.manners.join('+')}`;
  if (failures.has(cause)) return;
  failures.add(cause);
  const entry = JSON.stringify(shortest);
  process.stdout.write(
    `\n  Failure: ${why}\n  To repeat: ${command}\n  Shortest: npm run fuzz -- providers --case '${entry}'\n  For test/fuzz/providers/corpus.json: ${entry}\n`,
  );
}

async function shorten(one: ProviderCase, failure: string, lane: StageLane): Promise<readonly [ProviderCase, string]> {
  let shortest = one;
  let why = failure;
  for (let tries = 0, isShorter = true; isShorter && tries < MAX_TRIES; ) {
    isShorter = false;
    for (const candidate of shorter(shortest)) {
      tries += 1;
      const still = await check(candidate, lane);
      if (still === undefined) continue;
      [shortest, why, isShorter] = [candidate, still, true];
      break;
    }
  }
  return [shortest, why];
}

async function check(one: ProviderCase, lane: StageLane): Promise<string | undefined> {
  number += 1;
  const failure = await checkCase(one, { lane, ids, number });
  const [crash] = crashes.splice(0);
  if (crash === undefined) return failure;
  return `the process would crash: ${crash instanceof Error ? crash.stack : String(crash)}`;
}
