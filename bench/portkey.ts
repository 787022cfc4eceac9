/** Portkey as a target, on the same Node. npm fetches it once. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, start } from './child.ts';
import { CORES } from './machine.ts';
import { CACHE, type Target, TargetUnavailable, whenReady } from './target.ts';

export const PORTKEY = '1.15.2';
/** The version that Portkey's range selects returns 500 for streams. */
const NODE_SERVER = '1.13.7';
const INSTALL_MS = 120_000;

export async function startPortkey(upstreamPort: number): Promise<Target> {
  const folder = join(CACHE, `portkey-${PORTKEY}`);
  const entry = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js');
  if (!existsSync(entry)) install(folder);
  if (!existsSync(entry)) throw new TargetUnavailable('Portkey could not be fetched with npm');
  const port = await freePort();
  const process = start(globalThis.process.execPath, [entry, `--port=${port}`, '--headless'], CORES?.target, {
    cwd: folder,
    env: { PATH: globalThis.process.env.PATH, NODE_ENV: 'production' },
  });
  const headers = () => ({
    'x-api-key': 'mock-credential',
    'x-portkey-provider': 'anthropic',
    'x-portkey-custom-host': `http://127.0.0.1:${upstreamPort}/v1`,
  });
  return whenReady({ name: 'Portkey', process, port, headers });
}

function install(folder: string): void {
  console.error(`Fetching @portkey-ai/gateway ${PORTKEY} into .cache/bench, once ...`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({
      private: true,
      dependencies: { '@portkey-ai/gateway': PORTKEY },
      overrides: { '@hono/node-server': NODE_SERVER },
    }),
  );
  spawnSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'], {
    cwd: folder,
    stdio: 'ignore',
    timeout: INSTALL_MS,
  });
}
