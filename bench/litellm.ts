/** LiteLLM as a target: its proxy with one worker, without keys and database. pip installs it once, into a virtual environment. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MODELS } from './bodies.ts';
import { findProgram, freePort, start } from './child.ts';
import { CORES } from './machine.ts';
import { CACHE, createWorkFolder, type Target, TargetUnavailable, whenReady } from './target.ts';

export const LITELLM = '1.101.6';
const INSTALL_MS = 300_000;

export async function startLitellm(upstreamPort: number): Promise<Target> {
  const environment = join(CACHE, `litellm-${LITELLM}`);
  const program = join(environment, 'bin/litellm');
  if (!existsSync(program)) install(environment);
  const folder = createWorkFolder();
  const port = await freePort();
  const config = join(folder, 'config.yaml');
  // JSON is valid YAML.
  writeFileSync(config, JSON.stringify(configOf(`http://127.0.0.1:${upstreamPort}`)));
  const args = ['--config', config, '--host', '127.0.0.1', '--port', String(port), '--num_workers', '1'];
  const process = start(program, args, CORES?.target, {
    cwd: folder,
    env: {
      PATH: `${join(environment, 'bin')}:${globalThis.process.env.PATH}`,
      HOME: folder,
      LITELLM_LOG: 'ERROR',
      LITELLM_MODE: 'PRODUCTION',
      // Otherwise the start downloads a price list.
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
    },
  });
  return whenReady({ name: 'LiteLLM', process, port, headers: () => ({ 'x-api-key': 'unused' }), folder });
}

/** Leaves nothing behind when it fails, so that the next run tries again. */
function install(environment: string): void {
  const python = findProgram('python3');
  if (python === undefined) throw new TargetUnavailable('LiteLLM needs python3, which is not installed');
  console.error(`Installing LiteLLM ${LITELLM} into .cache/bench with pip, once ...`);
  mkdirSync(CACHE, { recursive: true });
  const run = (program: string, args: readonly string[]): boolean =>
    spawnSync(program, args, { stdio: 'ignore', timeout: INSTALL_MS }).status === 0;
  const isInstalled =
    run(python, ['-m', 'venv', environment]) &&
    run(join(environment, 'bin/python'), ['-m', 'pip', 'install', '--quiet', `litellm[proxy]==${LITELLM}`]);
  if (isInstalled) return;
  rmSync(environment, { recursive: true, force: true });
  throw new TargetUnavailable(`LiteLLM ${LITELLM} could not be installed with pip`);
}

const configOf = (upstream: string): object => ({
  model_list: MODELS.map((name) => ({
    model_name: name,
    litellm_params: { model: `anthropic/${name}`, api_base: upstream, api_key: 'mock-credential' },
  })),
  litellm_settings: { telemetry: false, drop_params: true },
});
