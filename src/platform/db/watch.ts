/**
 * Watches the revisions of configuration and keys, so that a replica reloads what another process changed. Triggers
 * count revisions up and notify. The watch listens, and also checks every two seconds: notifications are lost while the
 * connection is down, and poolers do not forward LISTEN. Reasons: docs/adr/0004-revisions.md The same connection hears
 * of new work, such as a video task, which has no revision: whoever waits for it also looks by itself.
 */
import type { QueryResultRow } from 'pg';
import { type Clock, errorFields, type Log, type Repetition, repeat } from '../../core/index.ts';
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
/** The delay before a reconnect doubles until a connection listens. */
const RECONNECT_MS = { min: 100, max: 5_000 } as const;
/** A server that takes longer to respond is asked through the pool, and the connection is replaced. */
const RESPONSE_MS = 1_000;
const REVISIONS = 'select name, revision from revisions order by name';

const CHANNELS = { revisions: 'dragoman', work: 'dragoman_work' } as const;

interface Revision {
  readonly name: string;
  readonly revision: bigint;
}

export class RevisionWatch {
  readonly #options: RevisionWatchOptions;
  readonly #seen = new Map<string, bigint>();
  #repetition: Repetition | undefined;
  #endListening = async (): Promise<void> => {};
  #listener: SeverableClient | undefined;
  readonly #onWork = new Set<(name: string) => void>();
  readonly #onGap = new Set<() => void>();
  #checking: Promise<void> = Promise.resolve();
  #reconnectMs: number = RECONNECT_MS.min;
  #isStopped = false;

  /** The first check reports every revision, because data that was loaded before may have missed a change. */
  static async start(options: RevisionWatchOptions): Promise<RevisionWatch> {
    const watch = new RevisionWatch(options);
    await watch.check();
    await watch.#listen();
    watch.#repetition = repeat(() => watch.#checkRegularly(), {
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
    return this.#check(undefined);
  }

  /**
   * Calls `listener` with the name of work that a trigger announces. Announcements may be lost; `onGap` is called after
   * a reconnect.
   */
  onWork(listener: (name: string) => void, onGap: () => void): void {
    this.#onWork.add(listener);
    this.#onGap.add(onGap);
  }

  /**
   * The rows of a short statement, through the listening connection, which needs no probe. Undefined without an answer
   * of it.
   */
  async read<Row extends QueryResultRow>(name: string, text: string): Promise<readonly Row[] | undefined> {
    const answer = this.#listener?.query<Row>({ name, text });
    return answer?.then(({ rows }) => rows).catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#repetition?.stop();
    await this.#endListening();
    await this.#checking.catch(() => {});
  }

  #check(known: readonly Revision[] | undefined): Promise<void> {
    this.#checking = this.#checking.catch(() => {}).then(() => this.#checkOnce(known));
    return this.#checking;
  }

  async #checkOnce(known: readonly Revision[] | undefined): Promise<void> {
    const { database, onChange } = this.#options;
    const rows =
      known ?? (await database.db.selectFrom('revisions').select(['name', 'revision']).orderBy('name').execute());
    // By name, so that the catalog comes first: parks concern the accounts as they are now.
    for (const { name, revision } of rows) {
      if (this.#seen.get(name) === revision) continue;
      await onChange(name as RevisionName);
      // After the reload, so that a failed reload is retried.
      this.#seen.set(name, revision);
    }
  }

  /**
   * Through the listening connection, which does not notice by itself that the server is silent; through the pool
   * without it.
   */
  async #checkRegularly(): Promise<void> {
    const listener = this.#listener;
    const cancel = this.#options.clock.after(RESPONSE_MS, () => listener?.sever());
    await this.#check(await this.read<Revision & QueryResultRow>('revisions', REVISIONS).finally(cancel));
  }

  async #listen(): Promise<void> {
    if (this.#isStopped) return;
    const { database, log } = this.#options;
    try {
      const client = await connect(database.url);
      this.#endListening = () => client.end().catch(() => {});
      client.on('notification', ({ channel, payload = '' }) => this.#onNotification(channel, payload));
      await client.query(`listen ${CHANNELS.revisions}; listen ${CHANNELS.work}`);
      if (client.loss) throw client.loss;
      client.once('end', () => this.#reconnect());
      this.#listener = client;
      this.#reconnectMs = RECONNECT_MS.min;
      if (this.#isStopped) await this.#endListening();
    } catch (error) {
      log.warn('watch.disconnected', errorFields(error));
      await this.#endListening();
      this.#reconnect();
    }
  }

  /** Without waiting for the next check, because nobody has told what happened meanwhile. */
  async #listenAgain(): Promise<void> {
    await this.#listen();
    if (!this.#listener) return;
    for (const catchUp of this.#onGap) catchUp();
    await this.check().catch(this.#logFailure);
  }

  #onNotification(channel: string, payload: string): void {
    if (channel === CHANNELS.work) for (const listener of this.#onWork) listener(payload);
    else this.check().catch(this.#logFailure);
  }

  #reconnect(): void {
    this.#listener = undefined;
    if (this.#isStopped) return;
    this.#options.clock.after(this.#reconnectMs, () => void this.#listenAgain());
    this.#reconnectMs = Math.min(RECONNECT_MS.max, 2 * this.#reconnectMs);
  }

  readonly #logFailure = (error: unknown): void => this.#options.log.warn('watch.failed', errorFields(error));
}
