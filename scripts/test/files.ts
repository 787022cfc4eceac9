/** Which test files belong to which command. `npm test` runs all that are in no table. */
import { globSync } from 'node:fs';

const FOLDERS = ['src', 'scripts', 'sim', 'console', 'test'];

/**
 * Only in `npm run test:all`, with the reason. `npm test` keeps at least one test of every clause and every capability.
 */
export const ALL_ONLY: Readonly<Record<string, string>> = {
  'src/ledger/close.db.test.ts': 'replicas that close under load',
  'src/ledger/crash.db.test.ts': 'every crash point of the journal',
  'test/browser/pages.test.ts': 'every page in two roles and two colours',
  'test/e2e/asset-crash.test.ts': 'every crash point of assets and groups',
  'test/e2e/backup.test.ts': 'an export under load',
  'test/e2e/batch-crash.test.ts': 'every crash point of batches',
  'test/e2e/crash.test.ts': 'every crash point of every kind of call',
  'test/e2e/ended-connections.test.ts':
    'real servers under load; lost-connections.test.ts strikes every kind of connection',
  'test/e2e/first-start.test.ts': 'a new process and PostgreSQL for each case',
  'test/e2e/launcher.test.ts': 'a new process for each command; demo.test.ts starts one too',
  'test/e2e/orphan.test.ts': 'a new process and PostgreSQL',
  'test/e2e/pages.test.ts': 'every command of the documentation; demo.test.ts runs those of the demo',
  'test/e2e/video-crash.test.ts': 'every crash point of creating a task',
  'test/e2e/video-follow-crash.test.ts': 'every crash point of following a task',
  'test/e2e/workers.test.ts': 'kills and reloads of three worker processes',
};

/** Only in `npm run test:all -- --sweeps`: every case of what other files test with some. */
export const SWEEPS: Readonly<Record<string, string>> = {
  'sim/images.test.ts': 'the simulated providers, which every test of images uses',
  'src/ledger/reports/usage-breakdown.db.test.ts': 'random reports of random records',
  'src/platform/db/embedded/index.test.ts': 'a new PostgreSQL for each case',
  'src/platform/db/embedded/membership.test.ts': 'a new PostgreSQL for each case',
  'test/browser/every-form.test.ts': 'every form of the console; forms.test.ts submits some of them',
  'test/browser/jobs.test.ts': 'every job of operators and users',
  'test/e2e/admin-invalid.test.ts': 'every invalid value in every field of the admin API',
  'test/e2e/api-fuzz.test.ts': 'hundreds of damaged requests to every operation',
  'test/e2e/convert-faults.test.ts': 'every error in every pair of dialects',
  'test/e2e/fault-matrix.test.ts': 'every fault in every dialect',
  'test/e2e/mutations.test.ts': 'thousands of mutated requests',
  'test/e2e/native-fields.test.ts': "every member of the SDKs' request types",
  'test/e2e/overspend.test.ts': 'sixty calls for each way to overspend; admission-bounds.test.ts sends some of them',
  'test/e2e/reload-drain.test.ts': 'a stop that waits for a stream of 15 s',
  'test/e2e/report-plan.test.ts': 'plans of queries over many rows',
  'test/e2e/request-plan.test.ts': 'plans of queries over many rows',
  'test/e2e/slow-stop.test.ts': 'four servers with slow turns; server.test.ts closes sockets in such turns',
  'test/e2e/stops.test.ts': 'a new process for each dependency that hangs',
  'test/e2e/usage-plan.test.ts': 'plans of queries over many rows',
  'test/e2e/video-plan.test.ts': 'plans of queries over many rows',
  'test/e2e/video-sweep.test.ts': 'two thousand live tasks; video-follow.test.ts follows some',
  'test/e2e/video-veo-crash.test.ts': 'crash points of a family without a list; video-crash.test.ts has those of all',
  'test/laws/fields.test.ts': "every member of the SDKs' types in every pair of dialects",
};

/**
 * Only in `npm run test:all -- --load`: memory and throughput over many calls, which say nothing on a busy machine, and
 * long runs under load.
 */
const LOAD_ONLY = [
  ...['memory', 'body-memory', 'images-memory', 'video-results-memory', 'websocket-memory'],
  ...['agents', 'failover', 'native-load', 'overload', 'replica-loss', 'request-cost', 'rolling', 'slow-clients'],
  ...['soak', 'video-callbacks-load'],
].map((name) => `test/e2e/${name}.test.ts`);

export type Selection = 'quick' | 'all' | 'sweeps' | 'load';

/** Paths from the root, in the order of their names. */
export function testFiles(selection: Selection): string[] {
  if (selection === 'load') return LOAD_ONLY;
  if (selection === 'sweeps') return Object.keys(SWEEPS);
  return globSync(FOLDERS.map((folder) => `${folder}/**/*.test.ts`))
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => !LOAD_ONLY.includes(file) && SWEEPS[file] === undefined)
    .filter((file) => selection !== 'quick' || ALL_ONLY[file] === undefined)
    .sort();
}
