/** The demo of `serve`: starts simulated providers beside the server and prints commands to try. */
import * as catalog from '../../catalog/setup/index.ts';
import { VIDEO_ENDPOINTS } from '../../rules/index.ts';
import { type AppContext, CliError } from '../server/index.ts';
import { firstLineOf } from './finding.ts';
import { info } from './output.ts';

export interface Demo {
  /** Key by group; empty after the first start. */
  readonly keys: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** Port of the simulated providers unless the operator names one; a free port is used when it is taken. */
const SIM_PORT = 4010;

/** Undefined when the demo is switched off, or when the database has a configuration other than the demo. */
export async function startDemo(context: AppContext): Promise<Demo | undefined> {
  const { config, database, isFresh, isEmbedded, secrets } = context;
  if (config.DEMO === 'off') return undefined;
  const isEnabled = config.DEMO === 'on' || (isFresh && isEmbedded) || (await catalog.hasDemo(database.db));
  if (!isEnabled) return undefined;
  const { startSim } = await import('../../../sim/index.ts');
  // Variant A has parameters that only this family of the simulated provider accepts.
  const video = { models: { [catalog.DEMO_VIDEO_MODEL]: 'open' } } as const;
  const sim =
    config.DEMO_PORT === undefined
      ? await startSim({ port: SIM_PORT, video }).catch(() => startSim({ port: 0, video }))
      : await startSim({ port: config.DEMO_PORT, video }).catch((error: unknown) => {
          throw new CliError(
            `DEMO_PORT: the simulated providers cannot listen on ${config.DEMO_PORT}: ${firstLineOf(error)}`,
          );
        });
  try {
    const setup = catalog.demoSetup({ url: sim.url, videoUrl: sim.video.url });
    const applied = await catalog.applySetup(database.db, setup, { secrets });
    const keys = Object.fromEntries(applied.keys.map((key) => [key.group, key.token]));
    printKeys(keys);
    info(`Simulated providers listen at ${sim.url}; no request leaves this machine.`);
    return { keys, stop: () => sim.close() };
  } catch (error) {
    // An open server would keep the process alive.
    await sim.close();
    throw error;
  }
}

function printKeys(keys: Demo['keys']): void {
  if (Object.keys(keys).length === 0) return;
  info('Demo keys, shown only once (user demo, balance 100):');
  for (const [group, token] of Object.entries(keys)) info(`  ${group.padEnd(10)} ${token}`);
  info('The same as one line for another terminal, for the commands of README.md and docs/guides:');
  const variables = Object.entries(keys).map(([group, token]) => `${group.toUpperCase()}_KEY=${token}`);
  // The guides have one key, and this one serves nearly all of them.
  const guideKey = keys[catalog.DEMO_GROUPS.responses];
  info(`  export ${variables.join(' ')}${guideKey === undefined ? '' : ` DRAGOMAN_KEY=${guideKey}`}`);
}

/** `token`: the admin token, on the start that created it. */
export function printDemo(url: string, { keys }: Demo, token?: string): void {
  const { responses, messages, generate } = catalog.DEMO_GROUPS;
  const [r, m, g] = [keys[responses], keys[messages], keys[generate]];
  if (r === undefined || m === undefined || g === undefined) {
    info(
      'The demo keys were shown at the first start. To create another: npx dragoman key create --user demo --group messages --name mine',
    );
    return;
  }
  info('');
  info('Try any of these commands. Every demo key serves every demo text model:');
  for (const { about, command } of demoCommands(url, { r, m, g }, token)) info(`\n  # ${about}\n  ${command}`);
  info('');
}

interface DemoKeys {
  readonly r: string;
  readonly m: string;
  readonly g: string;
}

const TASKS = VIDEO_ENDPOINTS['tasks.create'].path;

/** Shell text that inserts the id in a response that was saved before. */
const idIn = (file: string): string => `$(sed 's/.*"id":"\\([^"]*\\)".*/\\1/' ${file})`;
const TASK_ID = idIn('task.json');

interface DemoCommand {
  /** Empty in a command that continues the one before. */
  readonly about: string;
  readonly command: string;
}

const demoCommands = (url: string, keys: DemoKeys, token?: string): DemoCommand[] =>
  [
    ...textCommands(url, keys),
    ...videoCommands(url, keys),
    ...(token === undefined
      ? []
      : [{ about: 'admin API: models with their prices and costs', command: get(`${url}/admin/v1/models`, token) }]),
    { about: 'models that a key may use', command: get(`${url}/v1/models`, keys.r) },
  ].map(({ about, command }) => ({ about: about || 'and', command }));

const get = (url: string, key: string): string => `curl -sS ${url} -H 'authorization: Bearer ${key}'`;

const post = (url: string, key: string, body: object, flags = '-sS'): string =>
  `curl ${flags} ${url} -H 'authorization: Bearer ${key}' -H 'content-type: application/json' -d '${JSON.stringify(body)}'`;

function textCommands(url: string, { r, m, g }: DemoKeys): DemoCommand[] {
  const hello = [{ role: 'user', content: 'Hello!' }];
  const message = (model: string) => ({ model, max_tokens: 200, messages: hello });
  return [
    { about: 'messages, forwarded unchanged', command: post(`${url}/v1/messages`, m, message('demo-messages')) },
    {
      about: 'messages on the other two keys, converted',
      command: post(`${url}/v1/messages`, r, message('demo-responses')),
    },
    { about: '', command: post(`${url}/v1/messages`, g, message('demo-generate')) },
    {
      about: 'chat completions on the messages key',
      command: post(`${url}/v1/chat/completions`, m, { model: 'demo-messages', messages: hello }),
    },
    {
      about: 'responses on the generate key, converted and streamed',
      command: post(`${url}/v1/responses`, g, { model: 'demo-generate', input: 'Hello!', stream: true }, '-sSN'),
    },
    {
      about: 'generate-content, forwarded unchanged',
      command: post(`${url}/v1beta/models/demo-generate:generateContent`, g, {
        contents: [{ role: 'user', parts: [{ text: 'Hello!' }] }],
      }),
    },
    {
      about: 'an image, written to lamp.png',
      command: `${post(`${url}/v1/images/generations`, r, { model: 'demo-image', prompt: 'a lamp', size: '1024x1024' })} | sed 's/.*"b64_json":"\\([^"]*\\)".*/\\1/' | base64 -d > lamp.png`,
    },
  ];
}

function videoCommands(url: string, { m }: DemoKeys): DemoCommand[] {
  return [
    {
      about: 'a video task; its id is written to task.json',
      command: `${post(`${url}${TASKS}`, m, { model: catalog.DEMO_VIDEO_MODEL, content: [{ type: 'text', text: 'a lamp at night' }], duration: 5 })} | tee task.json`,
    },
    {
      about: 'its states until it is done, in about 15 seconds',
      command: `curl -sSN ${url}${TASKS}/${TASK_ID} -H 'authorization: Bearer ${m}' -H 'accept: text/event-stream'`,
    },
    {
      about: 'the video, written to lamp.mp4',
      command: `${get(`${url}/v1/videos/${TASK_ID}/content`, m)} -o lamp.mp4`,
    },
    {
      about: 'public characters for a model',
      command: get(`'${url}/v1/public-characters?model=${catalog.DEMO_CHARACTER_MODEL}'`, m),
    },
    {
      about: 'a private asset: its group, the asset, and its review (active after some seconds)',
      command: `${post(`${url}/v1/asset-groups`, m, { name: 'demo-campaign', model: catalog.DEMO_VIDEO_MODEL })} | tee group.json`,
    },
    {
      about: '',
      command: `curl -sS ${url}/v1/assets -H 'authorization: Bearer ${m}' -H 'content-type: application/json' -d '{"name":"demo-lamp","url":"https://example.com/lamp.png","asset_type":"Image","group_id":"'${idIn('group.json')}'"}' | tee asset.json`,
    },
    {
      about: '',
      command: `curl -sS -X POST ${url}/v1/assets/${idIn('asset.json')}/refresh -H 'authorization: Bearer ${m}'`,
    },
  ];
}
