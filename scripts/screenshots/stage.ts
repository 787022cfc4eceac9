/**
 * A gateway with simulated providers, a history and open decisions, in a temporary folder, and two people who can sign
 * in.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSim } from '../../sim/index.ts';
import { applySetup, parseSetup } from '../../src/catalog/setup/index.ts';
import { silentLog } from '../../src/core/index.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { type AppContext, openContext } from '../../src/program/server/index.ts';
import { serve } from '../../src/program/server/serve.ts';
import { adminApi } from '../../test/support/admin.ts';
import { Receiver } from '../../test/support/callbacks.ts';
import { startCanned } from '../../test/support/canned.ts';
import { type ConsolePage, consolePages, type Reader } from '../../test/support/console-pages.ts';
import { failInWords, playScene, SCENE_VIDEO, sceneSetup } from '../../test/support/console-scene.ts';
import { fillHistory, rollUpHistory } from './history.ts';

const ADMIN_TOKEN = `pictures-${'token-'.repeat(8)}`;
/** As slow as a real provider. */
const SLOW_CALL = { delayMs: 420, gapMs: 15, events: 80 };
export const PASSWORD = 'a password for pictures';
export const PEOPLE: Readonly<Record<Reader, { readonly email: string; readonly name: string }>> = {
  operator: { email: 'olga@example.test', name: 'Olga Novak' },
  user: { email: 'dana@example.test', name: 'Dana Weber' },
};

export interface Stage {
  readonly url: string;
  readonly pages: readonly ConsolePage[];
  close(): Promise<void>;
}

export async function openStage(): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-pictures-'));
  // PostgreSQL does not run as root; its own user must be able to traverse this folder.
  chmodSync(folder, 0o711);
  const sim = await startSim({ video: SCENE_VIDEO });
  const failing = await startCanned();
  const receiver = await new Receiver().listen();
  const env = { DATA_DIR: join(folder, 'data'), DEMO: 'off', ADMIN_TOKEN, HOST: '127.0.0.1', PORT: '0' };
  const context = await openContext(
    loadConfig({ ...env, EGRESS_ALLOW: receiver.origin, ALARM_CHECK_MS: '1000', SHEDDING: 'off' }),
    {
      log: silentLog,
    },
  );
  const text = (plain: string): string => plain;
  failInWords(failing, text);
  const setup = parseSetup(JSON.stringify(sceneSetup(sim, failing, text)));
  const { keys } = await applySetup(context.database.db, setup, { secrets: context.secrets });
  const server = await serve(context, { worker: true });
  const close = async (): Promise<void> => {
    await server.stop();
    await context.close();
    receiver.close();
    await failing.close();
    await sim.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    return {
      url: server.url,
      pages: await prepare(context, server.url, { keys, receiver, beforeCall: () => sim.next(SLOW_CALL) }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Cast {
  readonly keys: readonly { readonly group: string; readonly token: string }[];
  readonly receiver: Receiver;
  readonly beforeCall: () => void;
}

async function prepare(context: AppContext, url: string, { keys, receiver, beforeCall }: Cast): Promise<ConsolePage[]> {
  const { db } = context.database;
  const tokens = Object.fromEntries(keys.map(({ group, token }) => [group, token]));
  await fillHistory(context);
  await invitePeople(url);
  const scene = await playScene({
    url,
    token: ADMIN_TOKEN,
    db,
    keys: tokens,
    receiver,
    text: (plain) => plain,
    beforeCall,
  });
  await rollUpHistory(context);
  const own = await db
    .selectFrom('keys')
    .select('id')
    .where('user_id', '=', 'demo')
    .orderBy('id')
    .executeTakeFirstOrThrow();
  return consolePages(scene, own.id);
}

async function invitePeople(url: string): Promise<void> {
  const admin = adminApi(() => url, ADMIN_TOKEN);
  for (const [role, person] of Object.entries(PEOPLE)) {
    const { body } = await admin<{ link: string }>('POST', '/people', { ...person, role, user: 'demo' });
    const redeemed = await fetch(`${url}/console/v1/link`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: url },
      body: JSON.stringify({ token: body.link.split('#')[1], password: PASSWORD }),
    });
    if (!redeemed.ok) throw new Error(`The link of ${person.email} gives ${redeemed.status}: ${await redeemed.text()}`);
  }
}
