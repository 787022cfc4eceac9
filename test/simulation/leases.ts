/**
 * `npm run bench -- leases`: wallet leases over a hundred replicas in virtual time; see lease-simulation.ts. `--replicas`, `--spread`, `--wallets` (of each
 * of four sizes), `--minutes`, `--rate`, `--failures` and `--seed` change the run. Exits with 1 when anything was overspent.
 */
import { parseArgs } from 'node:util';
import { type LeaseReport, LeaseSimulation } from './lease-simulation.ts';

const { values } = parseArgs({
  options: {
    replicas: { type: 'string', default: '100' },
    spread: { type: 'string', default: '100' },
    wallets: { type: 'string', default: '1000' },
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '500' },
    failures: { type: 'string', default: '4' },
    seed: { type: 'string', default: '1' },
  },
});
const [replicas, spread, wallets, minutes, rate, failures, seed] = [
  values.replicas,
  values.spread,
  values.wallets,
  values.minutes,
  values.rate,
  values.failures,
  values.seed,
].map(Number) as [number, number, number, number, number, number, number];

const begun = performance.now();
const report = await new LeaseSimulation({ replicas, spread, wallets, minutes, rate, failures, seed }).run();
print(report, (performance.now() - begun) / 1_000);
if (report.overspent > 0) process.exitCode = 1;

function print(result: LeaseReport, seconds: number): void {
  const { calls, statements, sizes, waits, failures: happened, unavailable, overspent, overdraft } = result;
  const share = (value: number): string => `${(value * 100).toFixed(2)} %`;
  const perCall = [...statements].map(([kind, count]) => `${kind} ${(count / calls).toFixed(3)}`).join(', ');
  const waited = waits.filter((ms) => ms > 0).length;
  const quantile = (q: number): string => (waits[Math.floor(q * (waits.length - 1))] ?? 0).toFixed(1);
  console.log(
    [
      `${replicas} replicas, ${spread} of them for each user, ${wallets} wallets of each size, ${calls} calls in ${minutes} virtual minutes (${seconds.toFixed(0)} s), seed ${seed}`,
      `failures: ${happened.crashes} crashes, ${happened.pauses} pauses, ${happened.cuts} lost databases; ${happened.fenced} replicas fenced; ${unavailable} calls got 503`,
      `overspent: ${overspent} calls; charged beyond leases by fenced replicas: ${overdraft} of a usual maximum of 1000000 per call`,
      `statements per call: ${perCall}`,
      `calls that waited for a lease: ${share(waited / waits.length)}; wait p50 ${quantile(0.5)} ms, p99 ${quantile(0.99)} ms, p99.9 ${quantile(0.999)} ms`,
      '',
      '| wallet | admitted | rejected, no money | rejected, money leased elsewhere | idle in leases | in leases of dead replicas | most of one wallet |',
      '|---|--:|--:|--:|--:|--:|--:|',
      ...Object.entries(sizes).map(
        ([size, one]) =>
          `| ${size} | ${one.admitted} | ${one.rejected} | ${one.wronglyRejected} | ${share(one.idleShare)} | ${share(one.deadShare)} | ${share(one.maxDeadShare)} |`,
      ),
    ].join('\n'),
  );
}
