/**
 * Watches the revisions of configuration and keys, so that a replica reloads what another process changed.
 * Triggers count revisions up and notify. The watch listens, and also checks every two seconds: notifications are lost while the
 * connection is down, and poolers do not forward LISTEN. Reasons: docs/adr/0004-revisions.md
 */
import { type Clock, errorFields, type Log, type Repetition, repeat } from '../core/index.ts';
import type { SeverableClient } from './client.ts';
import { connect, type Database } from './db.ts';

export type RevisionName = 'catalog' | 'identity' | 'pool';

export interface RevisionWatchOptions {
  readonly database: Database;
  readonly onChange: (name: RevisionName) => Promise<void> | void;
  readonly clock: Clock;
  readonly log: Log;
}

const CHECK_MS = 2_000;
const RECONNECT_MS = 1_000;
const PROBE_MS = 5_000;

export class RevisionWatch {
  readonly #options: RevisionWatchOptions;
  readonly #seen = new Map<string, bigint>();
  #repetition: Repetition | undefined;
  #endListening = async (): Promise<void> => {};
  #probe = async (): Promise<void> => {};
  #checking: Promise<void> = Promise.resolve();
  #isStopped = false;

  /** The first check reports every revision, because data that was loaded before may have missed a change. */
  static async start(options: RevisionWatchOptions): Promise<RevisionWatch> {
    const watch = new RevisionWatch(options);
    await watch.check();
    await watch.#listen();
    watch.#repetition = repeat(() => watch.#checkAll(), {
      clock: options.clock,
      intervalMs: CHECK_MS,
      onError: watch.#logFailure,
    });
    return watch;
  }

  private constructor(options: RevisionWatchOptions) {
    this.#options = options;
  }

  /** Checks now. Checks run one after another: of two parallel reloads, the one with older data could finish last. */
  check(): Promise<void> {
    this.#checking = this.#checking.catch(() => {}).then(() => this.#checkOnce());
    return this.#checking;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#repetition?.stop();
    await this.#endListening();
    await this.#checking.catch(() => {});
  }

  async #checkOnce(): Promise<void> {
    const { database, onChange } = this.#options;
    const rows = await database.db.selectFrom('revisions').select(['name', 'revision']).orderBy('name').execute();
    // By name, so that the catalog comes first: parks concern the accounts as they are now.
    for (const { name, revision } of rows) {
      if (this.#seen.get(name) === revision) continue;
      await onChange(name as RevisionName);
      // After the reload, so that a failed reload is retried.
      this.#seen.set(name, revision);
    }
  }

  async #checkAll(): Promise<void> {
    const [checked] = await Promise.allSettled([this.check(), this.#probe()]);
    if (checked.status === 'rejected') throw checked.reason;
  }

  async #listen(): Promise<void> {
    if (this.#isStopped) return;
    const { database, clock, log } = this.#options;
    try {
      const client = await connect(database.url);
      client.on('notification', () => void this.check().catch(this.#logFailure));
      client.on('error', () => {});
      this.#endListening = () => client.end().catch(() => {});
      this.#probe = () => probe(client, clock);
      await client.query('listen dragoman');
      client.once('end', () => this.#reconnect());
      if (this.#isStopped) await this.#endListening();
    } catch (error) {
      log.warn('watch.disconnected', errorFields(error));
      await this.#endListening();
      this.#reconnect();
    }
  }

  #reconnect(): void {
    if (!this.#isStopped) this.#options.clock.after(RECONNECT_MS, () => void this.#listen());
  }

  readonly #logFailure = (error: unknown): void => this.#options.log.warn('watch.failed', errorFields(error));
}

/** A connection that only listens does not notice a silent server. Cutting it makes the watch reconnect. */
async function probe(client: SeverableClient, clock: Clock): Promise<void> {
  const cancel = clock.after(PROBE_MS, () => client.sever());
  await client
    .query('select 1')
    .catch(() => {})
    .finally(cancel);
}
