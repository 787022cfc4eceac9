/** `dragoman doctor`: looks at everything a server needs and says what to do about each thing that is missing. */
import { mkdir, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { Command } from 'commander';
import { sql } from 'kysely';
import { type Config, loadConfig } from '../config.ts';
import { silentLog, systemClock } from '../core/index.ts';
import { isMigrated } from '../db/index.ts';
import { ALARMS, findAlarms, readAlarms } from '../ledger/index.ts';
import { type AppContext, openContext } from '../main.ts';
import { openRedisClient } from '../redis/index.ts';
import { print } from './output.ts';

interface Finding {
  readonly about: string;
  readonly state: 'good' | 'bad' | 'note';
  readonly says: string;
}

const MARK = { good: 'ok  ', bad: 'BAD ', note: 'note' } as const;
const MIN_FREE_BYTES = 2 ** 30;
const MIN_POSTGRES = 15;
const REDIS_MS = 3_000;

export const doctorCommand = (): Command =>
  new Command('doctor').description('check Node, database, Redis, disk, port and configuration').action(async () => {
    const config = loadConfig(process.env);
    const findings = [
      checkNode(),
      await checkDisk(config),
      await checkPort(config),
      ...(await checkRedis(config)),
      ...(await checkInstallation(config)),
    ];
    for (const { about, state, says } of findings) print(`${MARK[state]}  ${about.padEnd(14)} ${says}`);
    if (findings.some(({ state }) => state === 'bad')) process.exitCode = 1;
  });

const checkNode = (): Finding => ({ about: 'Node', state: 'good', says: `${process.version}, at ${process.execPath}` });

async function checkDisk(config: Config): Promise<Finding> {
  try {
    await mkdir(config.DATA_DIR, { recursive: true });
    const { bavail, bsize } = await statfs(config.DATA_DIR);
    const free = bavail * bsize;
    const says = `${(free / 2 ** 30).toFixed(1)} GiB free at ${config.DATA_DIR}`;
    return free < MIN_FREE_BYTES
      ? { about: 'Disk', state: 'bad', says: `${says}; make room or point DATA_DIR elsewhere` }
      : { about: 'Disk', state: 'good', says };
  } catch (error) {
    return { about: 'Disk', state: 'bad', says: `DATA_DIR ${config.DATA_DIR} cannot be used: ${messageOf(error)}` };
  }
}

function checkPort({ HOST, PORT }: Config): Promise<Finding> {
  const { promise, resolve } = Promise.withResolvers<Finding>();
  const probe = createServer();
  probe.once('error', (error: NodeJS.ErrnoException) => {
    const says =
      error.code === 'EADDRINUSE' ? 'is taken, perhaps by a running Dragoman; set PORT to use another' : error.message;
    resolve({ about: 'Port', state: error.code === 'EADDRINUSE' ? 'note' : 'bad', says: `${HOST}:${PORT} ${says}` });
  });
  probe.listen(PORT, HOST, () =>
    probe.close(() => resolve({ about: 'Port', state: 'good', says: `${HOST}:${PORT} is free` })),
  );
  return promise;
}

async function checkRedis({ REDIS_URL }: Config): Promise<Finding[]> {
  if (REDIS_URL === undefined) return [];
  try {
    const link = await openRedisClient({ url: REDIS_URL, clock: systemClock, ms: REDIS_MS });
    await link.close();
    return [{ about: 'Redis', state: 'good', says: 'answers and runs scripts; limits are counted together' }];
  } catch (error) {
    const says = `at REDIS_URL: ${messageOf(error)}; each server counts limits for itself until it answers`;
    return [{ about: 'Redis', state: 'bad', says }];
  }
}

/** Opening the ground migrates and unseals; when that works, database and master key are fine. */
async function checkInstallation(config: Config): Promise<Finding[]> {
  let ground: AppContext;
  try {
    ground = await openContext(config, { log: silentLog });
  } catch (error) {
    return [{ about: 'Database', state: 'bad', says: messageOf(error) }];
  }
  try {
    return [
      await checkDatabase(ground),
      { about: 'Master key', state: 'good', says: 'opens the stored secrets' },
      ...(await checkSetup(ground)),
      ...(await checkAlarms(ground)),
    ];
  } finally {
    await ground.close();
  }
}

async function checkDatabase({ database: { db }, isEmbedded }: AppContext): Promise<Finding> {
  const { rows } = await sql<{ version: string }>`select current_setting('server_version') as version`.execute(db);
  const version = rows[0]?.version ?? '';
  const where = isEmbedded ? 'embedded' : 'at DATABASE_URL';
  if (Number.parseInt(version, 10) < MIN_POSTGRES)
    return {
      about: 'Database',
      state: 'bad',
      says: `PostgreSQL ${version} is too old; ${MIN_POSTGRES} or later is needed`,
    };
  return { about: 'Database', state: (await isMigrated(db)) ? 'good' : 'bad', says: `PostgreSQL ${version}, ${where}` };
}

/** What is configured but cannot work, and what is missing to do anything. */
async function checkSetup({ database: { db } }: AppContext): Promise<Finding[]> {
  const groups = await db.selectFrom('groups').select(['id', 'style']).execute();
  const accounts = await db.selectFrom('accounts').select('group_id').execute();
  const models = await db.selectFrom('models').select('group_id').execute();
  const keys = await db.selectFrom('keys').select('id').where('revoked_at', 'is', null).execute();
  if (groups.length === 0)
    return [
      {
        about: 'Configuration',
        state: 'note',
        says: 'empty; "dragoman serve" brings a demo, "dragoman apply FILE" your own',
      },
    ];
  const lacking = (what: string, rows: readonly { group_id: string }[], advice: string): Finding[] =>
    groups
      .filter((group) => !rows.some((row) => row.group_id === group.id))
      .map((group) => ({ about: 'Configuration', state: 'note', says: `group ${group.id} has no ${what}; ${advice}` }));
  return [
    {
      about: 'Configuration',
      state: 'good',
      says: `${groups.length} groups, ${accounts.length} accounts, ${models.length} models, ${keys.length} keys`,
    },
    ...lacking('account', accounts, 'its keys get 503 until one is applied'),
    ...lacking('model', models, 'its keys get model_not_found until one is applied'),
  ];
}

/** A worker looks every minute; one that has not for so long is not running. */
const LATE_LOOK_S = 300;

/** Looked for now, not as the worker saw it last. */
async function checkAlarms({ database: { db } }: AppContext): Promise<Finding[]> {
  const alarms = (await findAlarms(db)).filter(({ count }) => count > 0);
  const [last] = await readAlarms(db);
  const isLate = last !== undefined && last.ageSeconds > LATE_LOOK_S;
  return [
    ...alarms.map(
      ({ name, count, detail }): Finding => ({
        about: 'Alarm',
        state: 'bad',
        says: `${name} ${count}: ${ALARMS[name].about} (${detail}); ${ALARMS[name].advice}`,
      }),
    ),
    ...(alarms.length === 0 ? [{ about: 'Alarms', state: 'good', says: 'nothing needs an operator' } as const] : []),
    ...(isLate
      ? [
          {
            about: 'Worker',
            state: 'note',
            says: `no worker has looked for ${Math.round(last.ageSeconds / 60)} minutes; start a server without --no-worker, or "dragoman work"`,
          } as const,
        ]
      : []),
  ];
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
