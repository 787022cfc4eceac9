/** `npm run bench`: the table of benchmarks. */
import { spawnSync } from 'node:child_process';
import { type Part, runPart } from '../scripts/parts.ts';

const PARTS = {
  quick: {
    about: "CPU time of calls, events and idling beside Node's plain proxy and nginx; four minutes; --write, --repeats",
    run: () => import('./quick.ts'),
  },
  keep: {
    about:
      'what calls, events, records, idling and memory cost beside what kept.json holds; 90 s; --runs, --limit, --write, --accept',
    run: () => import('./keep.ts'),
  },
  base: {
    about: 'this source tree beside another one: npm run bench -- base ../other; two minutes; --seconds',
    run: () => import('./base.ts'),
  },
  long: {
    about: 'calls of 10 KB to 2 MB in three shapes, and the tenth turn of a conversation; --repeats',
    run: () => import('./long.ts'),
  },
  compare: {
    about: 'this gateway, nginx, Portkey and LiteLLM in all scenarios; ten minutes; options in docs/performance.md',
    run: () => import('./comparison.ts'),
  },
  overload: {
    about:
      'more load than one gateway can serve, beside a server that only refuses; --seconds, --factor, --connections',
    run: () => import('./overload.ts'),
  },
  bursts: {
    about:
      '1,500 streams of two seconds and 200 calls of 400 KB at once, with one and two workers; --streams, --large, --workers',
    run: () => import('./bursts.ts'),
  },
  connections: {
    about:
      "new connections beside Node's own server, a crowd of 1,500, health checks, two workers; a minute; --seconds",
    run: () => import('./connections.ts'),
  },
  'slow-clients': {
    about: 'latency beside clients that read nothing or stop halfway; --readers, --halves, --seconds',
    run: () => import('./slow-clients.ts'),
  },
  footprint: {
    about: 'statements, log bytes and row bytes of a call in PostgreSQL; two minutes; --seconds',
    run: () => import('./footprint.ts'),
  },
  writes: {
    about: 'log bytes and CPU time of PostgreSQL for a call at 2,000 calls a second; --seconds, --users',
    run: () => import('./writes.ts'),
  },
  metering: {
    about: 'CPU time that limits and metering add to a call, and records a second from reservation to charge',
    run: () => import('./metering.ts'),
  },
  usage: {
    about: 'query plan of GET /v1/usage over ten million calls; minutes',
    run: () => runTest('usage-plan', { USAGE_ROWS: '10000000', TEST_TIMEOUT_MS: '3600000' }),
  },
  reports: {
    about: 'reports of the admin API over five million records; minutes; --rows',
    run: () => import('./reports.ts'),
  },
  'video-tasks': {
    about: 'query plans with two million video tasks; minutes',
    run: () => runTest('video-plan', { VIDEO_TASK_ROWS: '2000000', TEST_TIMEOUT_MS: '3600000' }),
  },
  images: { about: 'memory of 20 image calls at a time', run: () => runTest('images-memory', { IMAGE_CALLS: '20' }) },
  'video-body': {
    about: 'delay of the event loop by video requests of 64 MB',
    run: () => import('./video-body.ts'),
  },
  'video-follow': {
    about: '100,000 video tasks followed by one worker; three minutes; --tasks, --accounts, --seconds',
    run: () => import('./video-follow.ts'),
  },
  leases: {
    about:
      'wallet leases on 100 replicas that crash and pause, in virtual time; a minute; --replicas, --spread, --seed ...',
    run: () => import('../test/simulation/leases.ts'),
  },
} as const satisfies Record<string, Part>;

await runPart('bench', PARTS, 'compare');

/** A test that measures, with more load than `npm test` gives it. */
async function runTest(name: string, env: Readonly<Record<string, string>>): Promise<void> {
  const { status } = spawnSync(process.execPath, ['scripts/test.ts', `test/e2e/${name}.test.ts`], {
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  process.exitCode = status ?? 1;
}
