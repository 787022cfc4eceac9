/**
 * A gateway in its own process with a group of each style, in front of a provider that replies to everything at once.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { zstdCompressSync } from 'node:zlib';
import { jsonResponse, startCanned } from './canned.ts';
import { Command } from './command.ts';
import { groupsSetup } from './conversion-harness.ts';
import { testDatabase } from './database.ts';
import type { Shape } from './request-shapes.ts';
import { type Cost, costOf } from './thread-cost.ts';
import { until } from './wait.ts';

const GROUPS = [
  ['claude', 'messages'],
  ['openai', 'responses'],
  ['gemini', 'generate'],
] as const;
export type Group = (typeof GROUPS)[number][0];

/** The groups on which the requests of a client are served; the first one natively, except for chat. */
export const TARGETS: Readonly<Record<Shape['client'], readonly Group[]>> = {
  messages: ['claude', 'openai', 'gemini'],
  chat: ['openai', 'claude', 'gemini'],
  responses: ['openai', 'claude', 'gemini'],
  generate: ['gemini'],
};

export const PATHS: Readonly<Record<Shape['client'], string>> = {
  messages: '/v1/messages',
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  generate: '/v1beta/models/demo-text:generateContent',
};

const REPLIES: readonly (readonly [RegExp, string])[] = [
  [
    /messages/,
    '{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}',
  ],
  [
    /responses/,
    '{"id":"resp_1","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"ok","annotations":[]}]}],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}',
  ],
  [
    /generateContent/,
    '{"candidates":[{"content":{"role":"model","parts":[{"text":"ok"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}',
  ],
];

const TURN_MONITOR = fileURLToPath(new URL('./turn-monitor.ts', import.meta.url));

export interface CostServer {
  readonly pid: number;
  readonly url: string;
  readonly keys: Readonly<Record<string, string>>;
  /** How many requests reached the provider since the last `forget`. */
  received(): number;
  forget(): void;
  /** What the provider replies to every request from now on; undefined for its short replies. */
  replyWith(text: string | undefined): void;
  /** The provider replies to nothing until the returned function is called. */
  hold(): () => void;
  /** The CPU time of each longer turn of the event loop so far, of a server that was started with `isWatched`. */
  turns(): readonly number[];
  /** Sends a body, compressed or not, and returns the status and the text of the response. */
  send(client: Shape['client'], group: Group, body: string | Buffer): Promise<{ status: number; text: string }>;
  measure(
    client: Shape['client'],
    group: Group,
    body: string | Buffer,
  ): Promise<Cost & { status: number; text: string }>;
  stop(): Promise<void>;
}

export interface CostServerOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly isWatched?: boolean;
}

export async function startCostServer({ env, isWatched = false }: CostServerOptions = {}): Promise<CostServer> {
  const upstream = await startCanned();
  let received = 0;
  let replied: string | undefined;
  let held = Promise.resolve();
  upstream.respondWith(async (response, request) => {
    received += 1;
    await held;
    const [, text = '{}'] = REPLIES.find(([path]) => path.test(request.target)) ?? [];
    // The bodies are large, and nobody reads them.
    upstream.requests.length = 0;
    return jsonResponse(replied ?? text.replace('_1"', () => `_${received}"`))(response, request);
  });
  // Outside of `npm test` the server has its own, embedded one.
  const database = process.env.TEST_DATABASE_URL === undefined ? undefined : await testDatabase();
  const dataDir = mkdtempSync(join(tmpdir(), 'dragoman-cost-'));
  const file = join(dataDir, 'setup.json');
  const turnsFile = join(dataDir, 'turns');
  if (isWatched) writeFileSync(turnsFile, '');
  const groups = GROUPS.map(([id, style]) => ({ id, upstream: style, accounts: [{ max_concurrency: 1_000 }] }));
  writeFileSync(file, JSON.stringify(groupsSetup(groups, upstream.url)));
  const command = new Command(['serve', '--config', file], {
    env: {
      DATABASE_URL: database?.url,
      DATA_DIR: dataDir,
      LOG_LEVEL: 'error',
      ...(isWatched && { NODE_OPTIONS: `--import=${TURN_MONITOR}`, TURNS_FILE: turnsFile }),
      ...env,
    },
  });
  const url = await command.ready();
  const tokens = await until('the keys', () => {
    const found: string[] = command.stdout.match(/dg-\w{49}/g) ?? [];
    return found.length === GROUPS.length ? found : undefined;
  });
  const keys = Object.fromEntries(GROUPS.map(([id], n) => [id, tokens[n] ?? '']));
  const pid = command.process.pid ?? 0;
  const send: CostServer['send'] = async (client, group, body) => {
    const response = await fetch(`${url}${PATHS[client]}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${keys[group]}`,
        'content-type': 'application/json',
        ...(typeof body !== 'string' && { 'content-encoding': 'zstd' }),
      },
      body: typeof body === 'string' ? body : new Uint8Array(body),
    });
    return { status: response.status, text: await response.text() };
  };
  return {
    pid,
    url,
    keys,
    received: () => received,
    forget: () => {
      received = 0;
    },
    replyWith: (text) => {
      replied = text;
    },
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    turns: () => readFileSync(turnsFile, 'utf8').split('\n').filter(Boolean).map(Number),
    send,
    async measure(client, group, body) {
      const answers: { status: number; text: string }[] = [];
      const cost = await costOf(pid, async () => answers.push(await send(client, group, body)));
      return { ...cost, ...(answers[0] ?? { status: 0, text: '' }) };
    },
    async stop() {
      await command.stop();
      await upstream.close();
      await database?.drop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

export const compressed = (body: string): Buffer => zstdCompressSync(body);
