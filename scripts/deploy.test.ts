/**
 * What can become stale in deploy/: settings, ports, paths, commands, probes and times. `npm run release -- deploy`
 * does the rest.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseSetupFile } from '../src/catalog/setup/index.ts';
import { environmentTable, loadConfig } from '../src/platform/config.ts';
import { openHealthListener } from '../src/platform/http/index.ts';
import { version } from '../src/platform/version.ts';
import { ROUTES } from '../src/platform/web/index.ts';
import { bodyMemory } from '../src/program/server/settings.ts';
import { PROCESS_BYTES } from '../src/rules/index.ts';
import { at, dockerStages, namedSettings, readDeploy, yamlDocuments } from './deploy-files.ts';
import { ROOT } from './modules.ts';

/** Of other programs. */
const FOREIGN = new Set(['NODE_ENV', 'POSTGRES_PASSWORD', 'REDISCLI_AUTH', 'VALKEY_PASSWORD']);
const { PORT, DRAIN_MS } = loadConfig({});

const documentOf = (kind: string): unknown => yamlDocuments().find(({ content }) => content.kind === kind)?.content;
const compose = (): unknown => yamlDocuments().find(({ file }) => file === 'compose.yaml')?.content;
const container = (): unknown => at(documentOf('StatefulSet'), 'spec.template.spec.containers.0');

test('deploy files name only settings that exist, with values that are valid', () => {
  const known = new Set(environmentTable().map(({ name }) => name));
  const settings = namedSettings().filter(({ name }) => !FOREIGN.has(name));
  assert.ok(settings.length > 20);
  for (const { place, name, value } of settings) {
    assert.ok(known.has(name), `${place}: ${name} is not a setting`);
    // Empty values are for the operator to fill in, and a password in a URL too.
    if (value !== '' && !value.includes('${')) assert.doesNotThrow(() => loadConfig({ [name]: value }), place);
  }
});

test('the memory limit of a pod holds its processes and the large bodies of all of them', () => {
  const limit = 2 ** 30 * Number(/^(\d+)Gi$/.exec(String(at(container(), 'resources.limits.memory')))?.[1]);
  const settings = documentOf('ConfigMap');
  const workers = Number(at(settings, 'data.WORKERS'));
  assert.equal(at(settings, 'data.BODY_MEMORY_BYTES'), undefined, 'the default follows the limit');
  const needed = (workers + 1) * PROCESS_BYTES + bodyMemory({}, limit);
  assert.ok(needed <= limit * 0.9, `${workers} workers need ${needed} of ${limit} bytes`);
});

test('deploy files use the default port everywhere', () => {
  const [build = [], final = []] = dockerStages();
  assert.ok(build.length > 0);
  assert.equal(final.find(({ name }) => name === 'EXPOSE')?.text, String(PORT));
  assert.deepEqual(at(compose(), 'services.dragoman.ports'), [`127.0.0.1:${PORT}:${PORT}`]);
  const ports = at(container(), 'ports') as { name: string; containerPort: number }[];
  const metrics = Number(at(documentOf('ConfigMap'), 'data.METRICS_PORT'));
  assert.deepEqual(ports, [
    { name: 'http', containerPort: PORT },
    { name: 'metrics', containerPort: metrics },
    { name: 'health', containerPort: Number(at(documentOf('ConfigMap'), 'data.HEALTH_PORT')) },
  ]);
});

test('the Dockerfile copies paths that exist, and the image has what the server loads', () => {
  const [build = [], final = []] = dockerStages();
  const copied = (stage: typeof build) =>
    stage.flatMap(({ name, text }) =>
      name === 'COPY' ? [text.split(/\s+/).filter((word) => !word.startsWith('--'))] : [],
    );
  for (const [source = ''] of copied(build)) assert.ok(existsSync(join(ROOT, source)), source);
  const paths = copied(final).map(([source = '', target = '']) => {
    assert.equal(source, `/app/${target}`);
    return target;
  });
  for (const path of ['bin', 'src', 'sim', 'migrations', 'package.json', 'openapi.json', 'dist', 'node_modules'])
    assert.ok(paths.includes(path), path);
  const pod = at(documentOf('StatefulSet'), 'spec.template.spec.securityContext') as Record<string, unknown>;
  assert.equal(final.find(({ name }) => name === 'USER')?.text, `${pod.runAsUser}:${pod.runAsGroup}`);
});

test('deploy files run commands and probe paths that exist', () => {
  const commands = [...readDeploy('dragoman.service').matchAll(/^Exec\w+=\S+ \/opt\/dragoman\/(\S+) (\w+)/gm)];
  assert.deepEqual(
    commands.map(([, path, command]) => [path, command]),
    [
      ['bin/dragoman.js', 'serve'],
      ['bin/dragoman.js', 'reload'],
    ],
  );
  for (const command of ['serve', 'reload']) assert.ok(existsSync(join(ROOT, 'src/program/cli', `${command}.ts`)));
  assert.ok(existsSync(join(ROOT, 'bin/dragoman.js')));
  const probes = ['startupProbe', 'readinessProbe', 'livenessProbe'].map((probe) =>
    String(at(container(), `${probe}.httpGet.path`)),
  );
  for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe'])
    assert.equal(at(container(), `${probe}.httpGet.port`), 'health');
  const [, health = ''] = /path: '(\/\w+)'/.exec(readDeploy('Dockerfile')) ?? [];
  for (const path of [...probes, health])
    assert.ok(
      ROUTES.some((route) => route.path === path),
      path,
    );
  assert.deepEqual(probes, ['/healthz', '/readyz', '/healthz']);
});

test('the example of the configuration file is valid, also with what its comments suggest, and every deployment reads it', async () => {
  const text = readDeploy('dragoman.example.yaml');
  const sources = { variable: () => 'sk-test', file: async () => '' };
  assert.deepEqual((await parseSetupFile(text, sources)).accounts, []);
  const filled = await parseSetupFile(text.replaceAll(/: \[\]$/gm, ':').replaceAll(/^# {2}(?=-)/gm, '  '), sources);
  assert.equal(filled.accounts.length, 1);
  const option = ['serve', '--config', '/config/dragoman.yaml'];
  assert.deepEqual(at(compose(), 'services.dragoman.command'), option);
  assert.deepEqual(at(container(), 'args'), option);
  assert.match(readDeploy('dragoman.service'), /^ExecStart=.* serve --config \/etc\/dragoman\/dragoman\.yaml$/m);
});

test('deploy files leave a server the time to drain', () => {
  const [, unit = ''] = /^TimeoutStopSec=(\d+)$/m.exec(readDeploy('dragoman.service')) ?? [];
  const pod = Number(at(documentOf('StatefulSet'), 'spec.template.spec.terminationGracePeriodSeconds'));
  const grace = Number.parseInt(String(at(compose(), 'services.dragoman.stop_grace_period')), 10);
  for (const { name, value } of namedSettings()) if (name === 'DRAIN_MS') assert.equal(value, String(DRAIN_MS));
  const before = Math.max(
    ...namedSettings().flatMap(({ name, value }) => (name === 'DRAIN_BEFORE_MS' ? [Number(value)] : [])),
  );
  assert.equal(before, 10_000, 'the longest is that of Kubernetes');
  for (const seconds of [Number(unit), grace, pod])
    assert.ok(seconds * 1_000 >= before + DRAIN_MS + 10_000, String(seconds));
});

test('the health check of the image asks the port of health checks', async () => {
  const [, command = ''] = /HEALTHCHECK [^\n]*\\\n\s*CMD (\[.*\])$/m.exec(readDeploy('Dockerfile')) ?? [];
  const [, ...args] = JSON.parse(command) as string[];
  const isHealthy = (port: number): Promise<boolean> =>
    new Promise((resolve) => {
      execFile(process.execPath, args, { env: { HEALTH_PORT: String(port) } }, (error) => resolve(error === null));
    });
  const paths = { alive: '/healthz', ready: '/readyz' };
  const notReady = async (): Promise<string> => 'starting';
  const listener = await openHealthListener({ host: '127.0.0.1', port: 0, paths, version, notReady });
  assert.equal(await isHealthy(listener.port), true);
  await listener.close();
  assert.equal(await isHealthy(listener.port), false);
});
