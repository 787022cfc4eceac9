/**
 * `npm run fuzz -- http`: reads a million generated messages with our HTTP/1.1 and with the judges, and compares.
 *
 * `--seed 7` repeats a run, `--count 5000` sets the number of messages, `--first 80` the number of the first one, and
 * `--only requests|responses|sockets|nginx` the part. A failure is printed as the shortest message that shows it, with the command
 * that repeats it and the line for `corpus.json`.
 */
import { randomInt } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { loadCorpus } from './corpus.ts';
import { KNOWN_DIFFERENCES } from './differences.ts';
import { Judge } from './judge.ts';
import { nginxPart } from './nginx.ts';
import { type Figures, newFigures, type Range, runCorpus } from './run.ts';
import { socketsPart } from './sockets.ts';

type Part = 'corpus' | 'requests' | 'responses' | 'sockets' | 'nginx';
const PARTS: readonly Part[] = ['corpus', 'requests', 'responses', 'sockets', 'nginx'];
/** Without a network, in equal parts for requests and responses. */
const DEFAULT_COUNT = 1_000_000;
/** Of the messages, how many go over real sockets and through nginx, each of which costs a millisecond. */
const SAMPLED_ONE_IN = 200;
const MAX_WORKERS = 2;
/** A worker reports after each batch of 64 messages. */
const HANG_MS = 60_000;
const PROGRESS_MS = 500;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    count: { type: 'string', default: String(DEFAULT_COUNT) },
    first: { type: 'string', default: '0' },
    only: { type: 'string' },
  },
});
const [seed, count, first] = [values.seed, values.count, values.first].map(wholeNumber) as [number, number, number];
const parts = PARTS.filter((part) => values.only === undefined || part === values.only);
if (parts.length === 0) stop(`--only: unknown part ${values.only}; use one of ${PARTS.join(', ')}.`);

process.stdout.write(`Seed ${seed}. To repeat this run: ${commandFor(values.only, first, count)}\n`);
let hasFailed = false;
for (const part of parts) report(part, await runPart(part));
process.exit(hasFailed ? 1 : 0);

function wholeNumber(text: string): number {
  return /^\d{1,10}$/.test(text) ? Number(text) : stop(`${text} is not a whole number.`);
}

function stop(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

/** With `--only`, the whole count applies to that part. */
function runPart(part: Part): Promise<Figures | string> {
  const isAlone = values.only !== undefined;
  const sampled = { seed, first, count: isAlone ? count : Math.ceil(count / SAMPLED_ONE_IN) };
  if (part === 'corpus') return withJudge((judge) => runCorpus(loadCorpus(), seed, judge));
  if (part === 'sockets') return socketsPart(sampled, (figures) => showProgress(part, figures, sampled.count));
  if (part === 'nginx') return nginxPart(sampled, (figures) => showProgress(part, figures, sampled.count));
  return inWorkers({ side: part, seed, first, count: isAlone ? count : Math.ceil(count / 2) });
}

async function withJudge(task: (judge: Judge) => Promise<Figures>): Promise<Figures> {
  const judge = new Judge();
  return task(judge).finally(() => judge.close());
}

/** In threads, so that an endless loop is noticed. */
async function inWorkers(range: Range): Promise<Figures> {
  const workers = Math.min(MAX_WORKERS, availableParallelism(), Math.ceil(range.count / 64));
  const share = Math.ceil(range.count / workers);
  const ranges = Array.from({ length: workers }, (_, n) => ({
    ...range,
    first: range.first + n * share,
    count: Math.min(share, range.count - n * share),
  }));
  const all = ranges.map(() => newFigures());
  const showAll = (): void => showProgress(range.side, sum(all), range.count);
  await Promise.all(
    ranges.map((one, n) =>
      inWorker(one, (figures) => {
        all[n] = figures;
        showAll();
      }),
    ),
  );
  return sum(all);
}

function inWorker(range: Range, onFigures: (figures: Figures) => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const worker = new Worker(new URL('worker.ts', import.meta.url), { workerData: range });
  let latest = newFigures();
  const fail = (failure: string): void => {
    const at = range.first + latest.messages;
    const failures = [...latest.failures, { side: range.side, of: at, failure, text: '' }];
    onFigures({ ...latest, failures });
    void worker.terminate();
    resolve();
  };
  const hang = (): void => fail(`no message is read for ${HANG_MS / 1000} s, somewhere in the next 64`);
  let timer = setTimeout(hang, HANG_MS);
  worker.on('message', (figures: Figures) => {
    clearTimeout(timer);
    timer = setTimeout(hang, HANG_MS);
    latest = figures;
    onFigures(figures);
  });
  worker.on('error', (error) => fail(`the process would crash, somewhere in the next 64: ${String(error)}`));
  worker.on('exit', () => {
    clearTimeout(timer);
    resolve();
  });
  return promise;
}

function sum(all: readonly Figures[]): Figures {
  const total = newFigures();
  for (const { messages, accepted, differences, failures } of all) {
    total.messages += messages;
    total.accepted += accepted;
    total.failures.push(...failures);
    for (const [name, times] of Object.entries(differences))
      total.differences[name] = (total.differences[name] ?? 0) + times;
  }
  return total;
}

let shownAt = 0;

function showProgress(part: Part, { messages, failures }: Figures, of: number): void {
  if (!process.stdout.isTTY || performance.now() - shownAt < PROGRESS_MS) return;
  shownAt = performance.now();
  process.stdout.write(`\r\x1b[K${part}: ${messages} of ${of}, ${failures.length} failures`);
}

function report(part: Part, figures: Figures | string): void {
  if (process.stdout.isTTY) process.stdout.write('\r\x1b[K');
  if (typeof figures === 'string') return void process.stdout.write(`${part}: ${figures}\n`);
  const { messages, accepted, differences, failures } = figures;
  process.stdout.write(
    `${part}: ${messages} messages, ${accepted} accepted, ${messages - accepted} rejected, ${failures.length} failures.\n`,
  );
  for (const [name, times] of Object.entries(differences))
    process.stdout.write(`  Known difference "${name}": ${times} times. ${whyOf(name)}\n`);
  for (const { side, of, failure, text } of failures) {
    hasFailed = true;
    process.stdout.write(`\n  Failure: ${failure}\n  Message: ${JSON.stringify(text)}\n`);
    if (typeof of === 'number')
      process.stdout.write(`  To repeat: ${commandFor(part === 'corpus' ? side : part, of, 1)}\n`);
    const entry = { side, about: 'what it is', parts: [text], read: 0, isRejected: true };
    process.stdout.write(`  For test/fuzz/corpus.json: ${JSON.stringify(entry)}\n`);
  }
}

function whyOf(name: string): string {
  return KNOWN_DIFFERENCES[name as keyof typeof KNOWN_DIFFERENCES] ?? '';
}

function commandFor(only: string | undefined, from: number, messages: number): string {
  const range = `--seed ${seed} --first ${from} --count ${messages}`;
  return `npm run fuzz -- http ${range}${only === undefined ? '' : ` --only ${only}`}`;
}
