/** `npm test [files]`: the whole suite, or only the files named, with the one PostgreSQL that test/setup.ts starts. */
import { spawn } from 'node:child_process';

const EVERYTHING = ['src/**/*.test.ts', 'sim/**/*.test.ts', 'test/**/*.test.ts'];
/** A file that hangs fails; none honestly takes longer, but for those that are asked to be thorough. */
const TIMEOUT_MS = Number(process.env.TEST_TIMEOUT_MS ?? 240_000);

const files = process.argv.slice(2);
const child = spawn(
  process.execPath,
  [
    '--test',
    '--test-global-setup=test/setup.ts',
    '--test-concurrency=2',
    `--test-timeout=${TIMEOUT_MS}`,
    ...(files.length > 0 ? files : EVERYTHING),
  ],
  // Every file is a process that loads the same modules; compiled once they load in a third of the time.
  { stdio: 'inherit', env: { NODE_COMPILE_CACHE: 'node_modules/.cache/compiled', ...process.env } },
);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
child.on('exit', (code) => process.exit(code ?? 1));
