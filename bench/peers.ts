/** Portkey and LiteLLM as targets, each with one process. npm and pip fetch them once, into .cache/bench. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MODELS } from './bodies.ts';
import { findProgram, freePort, start } from './child.ts';
import { CORES } from './machine.ts';
import { CACHE, createWorkFolder, type Target, TargetUnavailable, whenReady } from './target.ts';

export const PORTKEY = '1.15.2';
export const LITELLM = '1.101.6';
/** The version that Portkey's range selects returns 500 for streams. */
const NODE_SERVER = '1.13.7';
const INSTALL_MS = 300_000;
const { PATH } = process.env;

/**
 * Runs the steps in the folder if `entry` is missing. Leaves nothing behind when one fails, so that the next run tries
 * again.
 */
function install(name: string, entry: string, folder: string, steps: readonly (readonly string[])[]): void {
  if (existsSync(entry)) return;
  console.error(`Installing ${name} into .cache/bench, once ...`);
  for (const [program = '', ...args] of steps)
    if (spawnSync(program, args, { cwd: folder, stdio: 'ignore', timeout: INSTALL_MS }).status !== 0) {
      rmSync(folder, { recursive: true, force: true });
      throw new TargetUnavailable(`${name} could not be installed`);
    }
}

/** On the same Node. */
export async function startPortkey(upstreamPort: number): Promise<Target> {
  const folder = join(CACHE, `portkey-${PORTKEY}`);
  const entry = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js');
  mkdirSync(folder, { recursive: true });
  const dependencies = { '@portkey-ai/gateway': PORTKEY };
  const overrides = { '@hono/node-server': NODE_SERVER };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies, overrides }));
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'];
  install(`Portkey ${PORTKEY}`, entry, folder, [['npm', 'install', ...quiet]]);
  const port = await freePort();
  const args = [entry, `--port=${port}`, '--headless'];
  const env = { PATH, NODE_ENV: 'production' };
  const child = start(process.execPath, args, CORES?.target, { cwd: folder, env });
  const headers = () => ({
    'x-api-key': 'mock-credential',
    'x-portkey-provider': 'anthropic',
    'x-portkey-custom-host': `http://127.0.0.1:${upstreamPort}/v1`,
  });
  return whenReady({ name: 'Portkey', process: child, port, headers });
}

/** With one worker, and without keys and database. */
export async function startLitellm(upstreamPort: number): Promise<Target> {
  const python = findProgram('python3');
  if (python === undefined) throw new TargetUnavailable('LiteLLM needs python3, which is not installed');
  const environment = join(CACHE, `litellm-${LITELLM}`);
  const program = join(environment, 'bin/litellm');
  mkdirSync(environment, { recursive: true });
  install(`LiteLLM ${LITELLM}`, program, environment, [
    [python, '-m', 'venv', environment],
    [join(environment, 'bin/python'), '-m', 'pip', 'install', '--quiet', `litellm[proxy]==${LITELLM}`],
  ]);
  const folder = createWorkFolder();
  const port = await freePort();
  const config = join(folder, 'config.yaml');
  const litellm_params = { api_base: `http://127.0.0.1:${upstreamPort}`, api_key: 'mock-credential' };
  const model_list = MODELS.map((name) => ({
    model_name: name,
    litellm_params: { model: `anthropic/${name}`, ...litellm_params },
  }));
  // JSON is valid YAML.
  const litellm_settings = { telemetry: false, drop_params: true };
  writeFileSync(config, JSON.stringify({ model_list, litellm_settings }));
  const args = ['--config', config, '--host', '127.0.0.1', '--port', String(port), '--num_workers', '1'];
  // Without the last one, the start downloads a price list.
  const settings = { LITELLM_LOG: 'ERROR', LITELLM_MODE: 'PRODUCTION', LITELLM_LOCAL_MODEL_COST_MAP: 'True' };
  const env = { PATH: `${join(environment, 'bin')}:${PATH}`, HOME: folder, ...settings };
  const child = start(program, args, CORES?.target, { cwd: folder, env });
  return whenReady({ name: 'LiteLLM', process: child, port, headers: () => ({ 'x-api-key': 'unused' }), folder });
}
