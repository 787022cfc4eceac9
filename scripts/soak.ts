/** `npm run soak -- --minutes 10 --seed 1`: the soak test for minutes, with a kill each minute. It prints its seed. */
import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const seconds = Number(values.minutes) * 60;
if (!(seconds > 0) || !/^\d+$/.test(values.seed)) {
  process.stderr.write('Usage: npm run soak -- --minutes 10 --seed 1\n');
  process.exit(1);
}
process.stdout.write(`soak for ${seconds} s with seed ${values.seed}\n`);
const child = spawn(process.execPath, ['scripts/test.ts', 'test/e2e/soak.test.ts'], {
  stdio: 'inherit',
  env: {
    ...process.env,
    SOAK_SECONDS: String(seconds),
    SOAK_SEED: values.seed,
    TEST_TIMEOUT_MS: String((seconds + 600) * 1_000),
  },
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
child.on('exit', (code) => process.exit(code ?? 1));
