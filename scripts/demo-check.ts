/** Starts an installed Dragoman with its demo, sends a request with every key, loads the console, and stops it. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter } from 'node:path';

const READY_MS = 180_000;
const STOP_MS = 60_000;

export interface DemoCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Throws with the output of the server when something fails. */
export async function checkDemo({ command, args, cwd, env = {} }: DemoCommand): Promise<void> {
  const child = spawn(command, args, {
    cwd,
    env: { ...cleanEnvironment(), PORT: '0', WORKERS: '1', SHEDDING: 'off', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk;
    });
  try {
    const url = await readyAt(child, () => output);
    await sendRequests(url, output);
    await stop(child);
  } catch (error) {
    await stop(child).catch(() => {});
    throw new Error(`${error}\n${output}`);
  }
}

/**
 * Without what `npm run` adds: npm would take this repository for the folder of its commands, and find its programs
 * first.
 */
export const cleanEnvironment = (): NodeJS.ProcessEnv => {
  const { PATH = '', HOME, TMPDIR, HTTPS_PROXY, NO_PROXY, NODE_EXTRA_CA_CERTS, npm_config_registry } = process.env;
  const path = PATH.split(delimiter).filter((folder) => !folder.includes('node_modules'));
  const kept = { HOME, TMPDIR, HTTPS_PROXY, NO_PROXY, NODE_EXTRA_CA_CERTS, npm_config_registry };
  return { PATH: path.join(delimiter), ...kept };
};

function readyAt(child: ChildProcess, output: () => string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const timer = setTimeout(() => reject(new Error('The server is not ready in time.')), READY_MS);
  child.once('exit', () => reject(new Error('The server ended.')));
  child.once('error', reject);
  child.stderr?.on('data', () => {
    // The commands to try follow the address; the link for the first operator is the last line.
    const [, url] = /^Dragoman is ready at (\S+)$[\s\S]*\/console\//m.exec(output()) ?? [];
    if (url !== undefined) resolve(url);
  });
  return promise.finally(() => clearTimeout(timer));
}

async function sendRequests(url: string, output: string): Promise<void> {
  const keys = [...output.matchAll(/^ {2}(responses|messages|generate) +(dg-\S+)$/gm)];
  assert.equal(keys.length, 3, 'the start prints a key for each group');
  for (const [, group, key] of keys) {
    const response = await fetch(`${url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': key ?? '', 'content-type': 'application/json' },
      body: JSON.stringify({
        model: `demo-${group}`,
        max_tokens: 50,
        messages: [{ role: 'user', content: 'Hello!' }],
      }),
    });
    assert.equal(response.status, 200, `${group}: ${await response.clone().text()}`);
    assert.match(await response.text(), /"stop_reason":\s*"end_turn"/);
  }
  for (const path of ['/healthz', '/readyz', '/console/']) {
    const response = await fetch(url + path);
    assert.equal(response.status, 200, `${path}: ${response.status} ${await response.text()}`);
  }
}

async function stop(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit', { signal: AbortSignal.timeout(STOP_MS) });
  child.kill('SIGTERM');
  const [code] = await exited;
  assert.equal(code, 0, 'the server stops without an error');
}
