/** This gateway as a target: as an operator starts it, with its own database. Log lines are written and discarded. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Dialect } from './bodies.ts';
import { freePort, type StartedProcess, start } from './child.ts';
import { CORES } from './machine.ts';
import { createWorkFolder, ROOT, type Target, whenReady } from './target.ts';

export interface GatewayOptions {
  readonly name: string;
  /** The source tree to run; this one by default. */
  readonly tree?: string;
  /** Settings beyond those of every gateway here. */
  readonly env?: Readonly<Record<string, string>>;
  /** Of its accounts, in place of what all gateways here have. */
  readonly account?: Readonly<Record<string, unknown>>;
  /** Runs on the core of the targets alone; by default it does. */
  readonly isPinned?: boolean;
  /** Receives a CPU profile when the gateway stops. */
  readonly profileFolder?: string | undefined;
}

const GROUPS = ['messages', 'responses', 'generate'] as const;
const keyOf = (group: Dialect): string => `bench-key-for-the-${group}-group`;

export async function startGateway(
  { name, tree = ROOT, env = {}, account = {}, isPinned = true, profileFolder }: GatewayOptions,
  upstreamPort: number,
): Promise<Target> {
  const folder = createWorkFolder();
  const port = await freePort();
  writeFileSync(join(folder, 'setup.json'), JSON.stringify(setupOf(`http://127.0.0.1:${upstreamPort}`, account)));
  const flags = profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`];
  const preload = ['--import', new URL('allocations.ts', import.meta.url).href];
  const args = [...preload, ...flags, join(tree, 'bin/dragoman.js'), 'serve', '--config', join(folder, 'setup.json')];
  const process = start(globalThis.process.execPath, args, isPinned ? CORES?.target : undefined, {
    env: {
      PATH: globalThis.process.env.PATH,
      HOME: globalThis.process.env.HOME,
      PORT: String(port),
      DATA_DIR: join(folder, 'data'),
      DEMO: 'off',
      LOG_LEVEL: 'info',
      WORKERS: '1',
      DRAIN_MS: '1000',
      ALLOCATIONS_FILE: join(folder, 'allocations'),
      ...env,
    },
  });
  const headers = (group: Dialect) => ({ 'x-api-key': keyOf(group) });
  const target = await whenReady({ name, process, port, headers, folder });
  return { ...target, allocatedBytes: () => allocatedBytes(process, join(folder, 'allocations')) };
}

/** Of the main thread, since its start. With several workers, of the primary process, which serves nothing. */
async function allocatedBytes(gateway: StartedProcess, file: string): Promise<number> {
  rmSync(file, { force: true });
  gateway.child.kill('SIGUSR2');
  while (!existsSync(file) && !gateway.hasEnded()) await pause(20);
  return Number(readFileSync(file, 'utf8'));
}

const setupOf = (upstream: string, account: GatewayOptions['account']): object => ({
  groups: [
    { id: 'messages', style: 'messages' },
    { id: 'responses', style: 'responses' },
    { id: 'generate', style: 'generate-content' },
  ],
  accounts: GROUPS.map((group) => ({
    id: `mock-${group}`,
    group,
    base_url: group === 'responses' ? `${upstream}/v1` : upstream,
    api_key: 'mock-credential',
    max_concurrency: 100_000,
    ...account,
  })),
  // With prices, so that every call is reserved, charged and written to the journal.
  models: [{ id: 'bench-*', groups: GROUPS, prices: { input: '3', cached_input: '0.3', output: '15' } }],
  users: [{ id: 'bench', balance: '1000000' }],
  keys: GROUPS.map((group) => ({ user: 'bench', group, name: 'bench', key: keyOf(group) })),
});
