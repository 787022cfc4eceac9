/** The examples of /docs: every operation of callers has one in three languages, and all are run against the gateway of the demo. */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { type Document, type Endpoint, endpointsOf } from '../../console/reference/document.ts';
import { exampleOf, hasExample, ORIGIN, SAMPLE_IDS } from '../../console/reference/examples.ts';
import { type CodeLanguage, codeOf } from '../../console/src/parts/request-code.ts';
import { type Sim, startSim } from '../../sim/index.ts';
import { demoSetup } from '../../src/catalog/setup/index.ts';
import { Receiver } from '../support/callbacks.ts';
import { SCENE_VIDEO } from '../support/console-scene.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { longTest, someOf } from '../support/long-test.ts';
import { until } from '../support/wait.ts';

const ROOT = new URL('../..', import.meta.url);
const run = promisify(execFile);
const document: Document = JSON.parse(readFileSync(new URL('openapi.json', ROOT), 'utf8'));
const endpoints = endpointsOf(document).filter(hasExample);

/** One transparent pixel. */
const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

let sim: Sim;
let receiver: Receiver;
let gateway: TestGateway;
let keys: Record<string, string>;
let folder: string;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'dragoman-examples-'));
  writeFileSync(join(folder, 'lamp.png'), PICTURE);
  symlinkSync(fileURLToPath(new URL('node_modules', ROOT)), join(folder, 'node_modules'));
  [sim, receiver] = await Promise.all([startSim({ video: SCENE_VIDEO }), new Receiver().listen()]);
  gateway = await startGateway({ worker: true, env: { EGRESS_ALLOW: receiver.origin, RESULT_LINK_SECONDS: '3600' } });
  const demo = demoSetup({ url: sim.url, videoUrl: sim.video.url });
  const embedding = { id: 'demo-embedding', groups: ['generate'], prices: { input: '0.02', output: '0' } };
  keys = await gateway.apply({ ...demo, models: [...demo.models, embedding] });
  await gateway.context.database.db.updateTable('characters').set({ published: true }).execute();
});
after(async () => {
  await gateway?.stop();
  receiver?.close();
  await sim?.close();
  rmSync(folder, { recursive: true, force: true });
});

const keyOf = ({ operationId }: Endpoint): string => {
  const group = /^messages\./.test(operationId)
    ? 'messages'
    : /^generate\./.test(operationId)
      ? 'generate'
      : 'responses';
  return keys[group] ?? assert.fail(group);
};

async function api<T>(method: string, path: string, body?: object): Promise<{ body: T; headers: Headers }> {
  const response = await fetch(gateway.url + path, {
    method,
    headers: { authorization: `Bearer ${keys.responses}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${path}: ${text}`);
  return { body: text === '' ? undefined : JSON.parse(text), headers: response.headers };
}
const newId = async (path: string, body: object): Promise<string> =>
  (await api<{ readonly id: string }>('POST', path, body)).body.id;

const TASKS = '/api/v3/contents/generations/tasks';
const VIDEO = { model: 'demo-video-a', content: [{ type: 'text', text: 'a lamp' }], return_last_frame: true };

/** A task that has succeeded, whose callback was delivered. */
async function finishedTask(): Promise<string> {
  const id = await newId(TASKS, { ...VIDEO, callback_url: `${receiver.origin}/hook` });
  await until('the task', async () => {
    await gateway.context.database.db
      .updateTable('video_tasks')
      .set({ next_check_at: new Date(0) })
      .where('next_check_at', 'is not', null)
      .execute();
    return (await api<{ readonly status: string }>('GET', `${TASKS}/${id}`)).body.status === 'succeeded';
  });
  return id;
}

async function deliveredEvent(): Promise<string> {
  const task = await finishedTask();
  return until('the callback', async () => {
    const { body } = await api<{ data: { id: string; task_id: string; state: string }[] }>(
      'GET',
      '/v1/video-callbacks',
    );
    return body.data.find(({ task_id, state }) => task_id === task && state === 'delivered')?.id;
  });
}

async function activeAsset(): Promise<string> {
  const group = await MAKERS.group_id('');
  const asset = { group_id: group, asset_type: 'Image', url: 'https://example.com/lamp.png' };
  return await newId('/v1/assets', asset);
}

/** Objects of the caller, made anew for each example: some of them are deleted by it. */
const MAKERS: Readonly<Record<keyof typeof SAMPLE_IDS, (operation: string) => Promise<string>>> = {
  response_id: (operation) =>
    newId('/v1/responses', {
      ...{ model: 'demo-responses', input: 'Hello', store: true },
      ...(operation.startsWith('responses.cancel') && { background: true }),
    }),
  request_id: async () =>
    (await api('POST', '/v1/responses', { model: 'demo-responses', input: 'Hello' })).headers.get('x-request-id') ?? '',
  task_id: finishedTask,
  event_id: deliveredEvent,
  group_id: () => newId('/v1/asset-groups', { model: 'demo-video-a', name: 'lamps', group_type: 'AIGC' }),
  asset_id: () => activeAsset(),
  session_id: () =>
    newId('/v1/assets/real-person/authorization-sessions', { name: 'Presenter', redirect_url: 'https://example.com' }),
  character_id: async () => {
    const { body } = await api<{ data: { id: string }[] }>('GET', '/v1/public-characters?model=demo-video-2-0-ep');
    return body.data[0]?.id ?? assert.fail('no character');
  },
};

/** What only reads leaves an object as it is. */
const read = new Map<string, Promise<string>>();

function objectFor({ method, operationId }: Endpoint, name: keyof typeof SAMPLE_IDS): Promise<string> {
  if (method !== 'GET') return MAKERS[name](operationId);
  const made = read.get(name) ?? MAKERS[name](operationId);
  read.set(name, made);
  return made;
}

/** The program of an example, for this gateway and with objects that exist. */
async function programOf(endpoint: Endpoint, language: CodeLanguage): Promise<string> {
  let code = codeOf(exampleOf(document, endpoint))[language].replaceAll(ORIGIN, gateway.url);
  for (const [name, sample] of Object.entries(SAMPLE_IDS) as [keyof typeof SAMPLE_IDS, string][])
    if (code.includes(sample)) code = code.replaceAll(sample, await objectFor(endpoint, name));
  return code;
}

/** Whose examples are programs of their own. */
type ShellLanguage = Exclude<CodeLanguage, 'JavaScript'>;

async function runExample(endpoint: Endpoint, language: ShellLanguage): Promise<string | undefined> {
  const name = `${language} of ${endpoint.operationId}`;
  const code = await programOf(endpoint, language);
  const [program, args] = {
    curl: ['sh', ['-c', code.replace(/^curl /, 'curl -sS --fail-with-body ')]],
    Python: ['python3', ['-c', code]],
  }[language] as [string, string[]];
  // Machines have no SDK for Python, so that those programs are only compiled.
  if (language === 'Python' && /^from (?:openai|anthropic) import/m.test(code))
    args.splice(0, 2, '-c', 'import ast, sys; ast.parse(sys.argv[1])', code);
  const env = { ...process.env, DRAGOMAN_KEY: keyOf(endpoint) };
  try {
    await run(program, args, { cwd: folder, env, maxBuffer: 2 ** 26 });
    return undefined;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    return `${name}: ${(stdout + stderr).slice(-600)}`;
  }
}

/** An alias differs only in its path. */
const OWN_PATHS = endpoints.filter(
  ({ operationId }) => !/\.(?:root|v1)$/.test(operationId) || operationId === 'images.edit.root',
);

const faultsOf = async (language: ShellLanguage, some: readonly Endpoint[]): Promise<string[]> => {
  const faults: string[] = [];
  for (const endpoint of some) {
    const fault = await runExample(endpoint, language).catch(
      (error: Error) => `${endpoint.operationId}: ${error.message}`,
    );
    if (fault !== undefined) faults.push(fault);
  }
  return faults;
};

test('every operation that callers call by hand has an example that runs with curl', async () => {
  assert.ok(endpoints.length > 70, `${endpoints.length} examples`);
  assert.deepEqual(await faultsOf('curl', someOf(endpoints, 20)), []);
});

/** Runs modules with their keys one after the other, and prints what they throw. */
const RUN_MODULES = `for (const { module, key } of JSON.parse(process.argv[1])) {
  process.env.DRAGOMAN_KEY = key;
  await import(module).catch((error) => process.stderr.write(\`\${module}: \${error.stack}\\n\`));
}`;

/** In one process: each would load an SDK, which takes longer than the call. */
longTest('the examples in JavaScript run, with the official SDKs where they have the call', async () => {
  const modules: object[] = [];
  for (const endpoint of OWN_PATHS) {
    const path = join(folder, `${endpoint.operationId}.mjs`);
    writeFileSync(path, await programOf(endpoint, 'JavaScript'));
    modules.push({ module: pathToFileURL(path).href, key: keyOf(endpoint) });
  }
  const args = ['--input-type=module', '-e', RUN_MODULES, JSON.stringify(modules)];
  const { stderr } = await run('node', args, { cwd: folder, maxBuffer: 2 ** 26 });
  assert.equal(stderr, '');
});

const hasPython = spawnSync('python3', ['--version']).status === 0;

longTest(
  'the examples in Python run without a package, and compile with an SDK',
  { skip: hasPython ? false : 'python3 is not installed' },
  async () => {
    assert.deepEqual(await faultsOf('Python', OWN_PATHS), []);
  },
);
