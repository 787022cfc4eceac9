/**
 * Tells a replica that another process changed something: triggers move a revision on and notify; we listen, and also look
 * every two seconds, because a notification is lost when the connection is (and poolers do not pass LISTEN on).
 */
import { type Clock, errorFields, type Log } from '../core/index.ts';
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
  let looking: Promise<void> = Promise.resolve();

  /** The first one reports everything: what was loaded before may have missed a change already. */
  const lookOnce = async (): Promise<void> => {
    const rows = await database.db.selectFrom('revisions').select(['name', 'revision']).execute();
    for (const { name, revision } of rows) {
      if (seen.get(name) === revision) continue;
      await onChange(name as Revised);
      // Marked after the reload, so that one that failed is tried again.
      seen.set(name, revision);
    }
  };
  /** One after the other: of two reloads at once, the older picture could be the last to arrive. */
  const look = (): Promise<void> => {
    looking = looking.catch(() => {}).then(lookOnce);
    return looking;
  };
  const safeLook = () => look().catch((error: unknown) => log.warn('watch.failed', errorFields(error)));

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
      log.warn('watch.disconnected', errorFields(error));
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
      await looking.catch(() => {});
    },
  };
}
