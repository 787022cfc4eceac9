/**
 * Tells a replica that another process changed something: triggers move a revision on and notify; we listen, and also look
 * every two seconds, because a notification is lost when the connection is (and poolers do not pass LISTEN on).
 */
import { type Clock, faultOf, type Log } from '../core/index.ts';
import { connect, type Database } from './db.ts';

export type Revised = 'catalog' | 'identity';

const LOOK_MS = 2_000;
const RECONNECT_MS = 1_000;

export interface Watch {
  /** Looks at the revisions now. */
  look(): Promise<void>;
  stop(): Promise<void>;
}

export async function watchRevisions(
  database: Database,
  onChange: (name: Revised) => Promise<void> | void,
  { clock, log }: { clock: Clock; log: Log },
): Promise<Watch> {
  const seen = new Map<string, bigint>();
  let stopped = false;
  let cancelTimer = () => {};
  let endListening = async () => {};

  const look = async (): Promise<void> => {
    const rows = await database.db.selectFrom('revisions').select(['name', 'revision']).execute();
    for (const { name, revision } of rows) {
      if (seen.get(name) === revision) continue;
      const isFirst = !seen.has(name);
      // Marked before the reload: a change that arrives during it moves the revision again and is seen next time.
      seen.set(name, revision);
      if (!isFirst) await onChange(name as Revised);
    }
  };
  const safeLook = () => look().catch((error: unknown) => log.warn('watch.failed', faultOf(error)));

  const tick = (): void => {
    cancelTimer = clock.after(LOOK_MS, () => {
      void safeLook().finally(() => stopped || tick());
    });
  };

  const listen = async (): Promise<void> => {
    if (stopped) return;
    try {
      const client = await connect(database.url);
      const again = (): void => {
        if (!stopped) clock.after(RECONNECT_MS, () => void listen());
      };
      client.on('notification', () => void safeLook());
      client.on('error', () => {});
      client.once('end', again);
      endListening = () => client.end().catch(() => {});
      await client.query('listen dragoman');
      if (stopped) await endListening();
    } catch (error) {
      log.warn('watch.disconnected', faultOf(error));
      clock.after(RECONNECT_MS, () => void listen());
    }
  };

  await look();
  await listen();
  tick();
  return {
    look,
    async stop() {
      stopped = true;
      cancelTimer();
      await endListening();
    },
  };
}
