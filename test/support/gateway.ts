/** A complete gateway in the test process: its own database, a real socket, and its log in memory. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Catalog } from '../../src/catalog/index.ts';
import { applySetup, parseSetup } from '../../src/catalog/setup/index.ts';
import { type Clock, createLog } from '../../src/core/index.ts';
import { type Config, loadConfig } from '../../src/platform/config.ts';
import type { Db, PoolLimits } from '../../src/platform/db/index.ts';
import { type AppContext, openContext } from '../../src/program/server/index.ts';
import { serve } from '../../src/program/server/serve.ts';
import { SERVED_TEMPLATE, type TestDatabase, testDatabase } from './database.ts';
import { FastClock } from './fast-clock.ts';
import { HANGING_MS } from './wait.ts';
import './response-shapes.ts';

export interface LogLine {
  readonly msg: string;
  readonly [field: string]: unknown;
}

export interface TestGateway {
  readonly url: string;
  readonly context: AppContext;
  readonly database: TestDatabase;
  readonly log: LogLine[];
  readonly catalog: () => Catalog;
  /** Applies a configuration and returns the created keys by group. */
  apply(setup: object): Promise<Record<string, string>>;
  /** Idempotent. */
  stop(): Promise<void>;
}

export interface GatewayOptions {
  readonly setup?: object;
  readonly env?: Record<string, string>;
  /** The database of another gateway, to start a second replica. */
  readonly database?: TestDatabase;
  /** Also runs background jobs. Off by default, so that nothing happens but what the test does. */
  readonly worker?: boolean;
  /** Also sends requests of batches, without the other jobs. */
  readonly sendsBatches?: boolean;
  /** Shorter limits for statements, for tests of a database that does not respond. */
  readonly limits?: Partial<PoolLimits>;
  readonly clock?: Clock;
  /** Changes the configuration at the start, while the port is open. */
  readonly prepare?: (context: AppContext) => Promise<void>;
}

/** A database that responds is never too slow. */
const PATIENT = { connectMs: HANGING_MS, statementMs: HANGING_MS, callMs: HANGING_MS, probeMs: HANGING_MS };

/** Jobs that run each second for a server run five times a second, so that a test does not wait for them. */
const JOB_SPEED = 5;

export async function startGateway(options: GatewayOptions = {}): Promise<TestGateway> {
  const dataDir = mkdtempSync(join(tmpdir(), 'dragoman-gw-'));
  const database = options.database ?? (await testDatabase(SERVED_TEMPLATE));
  const config: Config = loadConfig({
    HOST: '127.0.0.1',
    PORT: '0',
    LOG_LEVEL: 'debug',
    DRAIN_MS: '500',
    DEMO: 'off',
    AUTH_FAILURES_PER_MINUTE: '1000000',
    MASTER_KEY: `k1:${'test-master-key-'.repeat(3)}`,
    DATA_DIR: dataDir,
    DATABASE_URL: database.url,
    USAGE_FLUSH_MS: '200',
    ACCOUNT_QUEUE_MS: '200',
    // Tests of the wait for a report after the client has left set it.
    USAGE_WAIT_MS: '1',
    // Clients, providers and gateway share one event loop here, whose delay therefore says nothing.
    SHEDDING: 'off',
    ...options.env,
  });
  const log: LogLine[] = [];
  const context = await openContext(config, {
    log: createLog(config.LOG_LEVEL, { write: (line) => void log.push(JSON.parse(line)) }),
    limits: { ...PATIENT, ...options.limits },
    ...(options.clock && { clock: options.clock }),
  });
  const jobClock = options.clock ?? new FastClock(JOB_SPEED);
  const { prepare } = options;
  const running = await serve(context, {
    worker: options.worker === true,
    sendsBatches: options.worker === true || options.sendsBatches === true,
    jobClock,
    ...(prepare && { prepare: () => prepare(context) }),
  }).catch(async (error: unknown) => {
    await context.close();
    throw error;
  });
  const apply = async (setup: object): Promise<Record<string, string>> => {
    const { db } = context.database;
    const { keys } = await applySetup(db, parseSetup(JSON.stringify(await freeUnlessPriced(db, setup))), {
      secrets: context.secrets,
    });
    await running.refresh();
    return Object.fromEntries(keys.map((key) => [key.group, key.token]));
  };
  if (options.setup) await apply(options.setup);
  const stop = async (): Promise<void> => {
    await running.stop().finally(() => context.close());
    rmSync(dataDir, { recursive: true, force: true });
    if (!options.database) await database.drop();
  };
  let stopping: Promise<void> | undefined;
  return {
    url: running.url,
    context: context,
    database,
    log,
    catalog: running.catalog,
    apply,
    stop() {
      stopping ??= stop();
      return stopping;
    },
  };
}

interface GivenSetup {
  readonly groups?: readonly { readonly id: string; readonly style: string }[];
  readonly models?: readonly GivenModel[];
}
interface GivenModel {
  readonly id: string;
  readonly groups: readonly string[];
  readonly prices?: object;
  readonly free?: boolean;
}

/**
 * Most tests are not about prices: models that they create without one are free. Models that exist and video models
 * stay as given.
 */
async function freeUnlessPriced(db: Db, setup: GivenSetup): Promise<object> {
  const groups = [...(await db.selectFrom('groups').select(['id', 'style']).execute()), ...(setup.groups ?? [])];
  const video = new Set(groups.filter(({ style }) => style === 'video').map(({ id }) => id));
  const rows = await db.selectFrom('models').select(['group_id', 'pattern']).execute();
  const stored = new Set(rows.map(({ group_id, pattern }) => `${group_id}/${pattern}`));
  const isGiven = ({ id, groups: ids, prices, free }: GivenModel): boolean =>
    prices !== undefined || free !== undefined || ids.some((group) => video.has(group) || stored.has(`${group}/${id}`));
  const models = setup.models?.map((model) => (isGiven(model) ? model : { ...model, free: true }));
  return { ...setup, ...(models && { models }) };
}

/** The basic groups and `chat-only`: a responses group whose only account speaks nothing but chat completions. */
export function setupWithChatOnly(upstream: string): object {
  const basic = basicSetup(upstream) as Record<'groups' | 'accounts' | 'models' | 'keys', object[]>;
  return {
    ...basic,
    groups: [...basic.groups, { id: 'chat-only', style: 'responses' }],
    accounts: [
      ...basic.accounts,
      {
        id: 'co1',
        group: 'chat-only',
        base_url: `${upstream}/v1`,
        api_key: 'sk-upstream-co1',
        features: ['chat'],
        preset: 'vllm',
      },
    ],
    models: [...basic.models, { id: 'demo-*', groups: ['chat-only'] }],
    keys: [...basic.keys, { user: 'ana', group: 'chat-only', name: 'test' }],
  };
}

/** One group of each style with one key each, all for one user. Without `upstream` the accounts refuse connections. */
export function basicSetup(upstream = 'http://127.0.0.1:9'): object {
  return {
    groups: [
      { id: 'openai', style: 'responses' },
      { id: 'claude', style: 'messages' },
      { id: 'gemini', style: 'generate-content' },
    ],
    accounts: [
      { id: 'oa1', group: 'openai', base_url: `${upstream}/v1`, api_key: 'sk-upstream-oa1' },
      { id: 'cl1', group: 'claude', base_url: upstream, api_key: 'sk-upstream-cl1' },
      { id: 'ge1', group: 'gemini', base_url: upstream, api_key: 'sk-upstream-ge1' },
    ],
    models: [
      { id: 'demo-responses', groups: ['openai'] },
      { id: 'demo-image', groups: ['openai'], capabilities: { imageOutput: true } },
      { id: 'demo-embedding', groups: ['openai'] },
      { id: 'alias-*', groups: ['openai'], upstream: 'demo-responses' },
      { id: 'demo-messages', groups: ['claude'] },
      { id: 'alias-*', groups: ['claude'], upstream: 'demo-messages' },
      { id: 'demo-generate', groups: ['gemini'] },
      { id: 'alias-*', groups: ['gemini'], upstream: 'demo-generate' },
      { id: 'demo-*', groups: ['openai', 'claude', 'gemini'] },
    ],
    users: [{ id: 'ana', email: 'ana@example.test', balance: '100' }],
    keys: ['openai', 'claude', 'gemini'].map((group) => ({ user: 'ana', group, name: 'test' })),
  };
}
