/**
 * `npm run soak -- suite`: rounds of `npm test` on a quiet machine, beside busy processes or on few cores. No outcome of a test may depend on
 * the speed of the machine: prints every test that failed in any round.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type FailedTest, readFailures } from './failures.ts';

const { values, positionals: files } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '1' },
    busy: { type: 'string', default: '0' },
    cores: { type: 'string', default: '0' },
    all: { type: 'boolean', default: false },
  },
});
const [rounds = 0, busy = 0, cores = 0] = [values.rounds, values.busy, values.cores].map(Number);
if (!(rounds >= 1 && busy >= 0 && cores >= 0)) throw new Error('Use --rounds 3 --busy 8 --cores 1.');
if (cores > 0 && process.platform !== 'linux') throw new Error('--cores needs taskset, which only Linux has.');

const folder = mkdtempSync(join(tmpdir(), 'dragoman-suite-'));
const failed = new Map<string, number>();
const competitors = Array.from({ length: busy }, () => spawn(process.execPath, ['-e', 'for (;;);']));
try {
  for (let round = 1; round <= rounds; round += 1) await runRound(round);
} finally {
  for (const one of competitors) one.kill();
}
process.exitCode = failed.size === 0 ? 0 : 1;
console.log(failed.size === 0 ? `${rounds} rounds, 0 failures` : `${failed.size} tests failed; output in ${folder}`);
for (const [test, count] of failed) console.log(`  in ${count} of ${rounds} rounds: ${test}`);

async function runRound(round: number): Promise<void> {
  const output = join(folder, `round-${round}.log`);
  const failures = join(folder, `round-${round}.failures`);
  const child = startTests(failures);
  child.stdout?.pipe(createWriteStream(output));
  const [code] = (await once(child, 'close')) as [number | null];
  const found = readFailures(failures);
  for (const test of found) count(nameOf(test));
  // The runner itself may have failed.
  if (code !== 0 && found.length === 0) count(`the run (exit code ${code})`);
  const costs =
    /^[\d.]+ s of wall time.*\n.*$/m.exec(existsSync(output) ? readFileSync(output, 'utf8') : '')?.[0] ?? '';
  console.log(`Round ${round} of ${rounds}: ${found.length} tests failed.\n${costs}\n`);
}

function startTests(failures: string): ChildProcess {
  const command = [process.execPath, 'scripts/test.ts', ...(values.all ? ['--all'] : []), ...files];
  const [program = '', ...args] = cores > 0 ? ['taskset', '-c', `0-${cores - 1}`, ...command] : command;
  return spawn(program, args, {
    env: { ...process.env, TEST_FAILURES: failures },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

function nameOf({ file, name }: FailedTest): string {
  return `${file}: ${name}`;
}

function count(test: string): void {
  failed.set(test, (failed.get(test) ?? 0) + 1);
}
