/**
 * Scripts in Redis that replicas share. A call rejects after 100 ms,
 * its caller goes on with local state, and Redis is retried.
 */
import { type Clock, errorFields, type Log } from '../../core/index.ts';
import { openRedisClient, type RedisClient, type Script } from './client.ts';

export interface RedisOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly onChange?: (isUp: boolean) => void;
}

export class RedisDown extends Error {}

/**
 * Time limit of a reply. Redis replies in well under a millisecond, and pauses for tens of milliseconds when it forks.
 * Counted in steps of the event loop: when this process itself was busy, the reply may already be in its socket.
 */
const REPLY_STEPS = 10;
const STEP_MS = 10;
/**
 * A connection needs ten replies, some of which may take as long as that,
 * beside the loading of the client at the start.
 */
const CONNECT_MS = 3_000;
/** The delay before a reconnect doubles until a connection stays up for `STABLE_MS`. */
const RETRY_MS = { min: 500, max: 5_000 } as const;
const STABLE_MS = 30_000;
/**
 * Replicas renew their leases at this interval.
 * A lease expires after three intervals, so a dead replica frees its slots.
 */
const RENEW_MS = 20_000;
export const LEASE_MS = 3 * RENEW_MS;

export class Redis {
  readonly #options: RedisOptions;
  readonly #renewals = new Set<() => void>();
  #client: RedisClient | undefined;
  #upSince = 0;
  #pause: number = RETRY_MS.min;
  #connecting: Promise<void> | undefined;
  #cancelRetry = () => {};
  #cancelRenewal = () => {};
  #isClosed = false;
  /** Last reported state; undefined before the first attempt has ended. */
  #reportedUp: boolean | undefined;

  constructor(options: RedisOptions) {
    this.#options = options;
  }

  /** Tries to connect once and retries in the background. */
  async start(): Promise<void> {
    this.#scheduleRenewal();
    await this.#connect();
  }

  get isUp(): boolean {
    return this.#client !== undefined;
  }

  /** Runs a script. Rejects when the reply is late; the script may have run nevertheless. */
  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const client = this.#client;
    if (!client) return Promise.reject(new RedisDown('not connected'));
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const fail = (error: Error): void => {
      this.#disconnect(client, error);
      reject(error);
    };
    const { clock } = this.#options;
    let left = REPLY_STEPS;
    const step = (): void => {
      left -= 1;
      if (left === 0) fail(new RedisDown(`no reply within ${REPLY_STEPS * STEP_MS} ms`));
      else cancel = clock.after(STEP_MS, step);
    };
    let cancel = clock.after(STEP_MS, step);
    client.run(script, keys, args).then(
      (reply) => {
        cancel();
        resolve(reply);
      },
      (error: Error) => {
        cancel();
        fail(error);
      },
    );
    return promise;
  }

  /** Runs a script without waiting. Does nothing while Redis is down. Scripts of a replica run in the order sent. */
  post(script: Script, keys: readonly string[], args: readonly string[]): void {
    if (this.#client) this.run(script, keys, args).catch(() => {});
  }

  /**
   * Ends a lease without waiting: while Redis is down after the reconnect,
   * with `later` as arguments, unless it has expired by then.
   */
  endLease(script: Script, keys: readonly string[], args: readonly string[], later = args): void {
    const endLater = (): void => {
      const stopRenewing = this.onRenew(() => {
        if (!this.#client) return;
        cancel();
        stopRenewing();
        this.post(script, keys, later);
      });
      const cancel = this.#options.clock.after(LEASE_MS, stopRenewing);
    };
    if (this.#client) this.run(script, keys, args).catch(endLater);
    else endLater();
  }

  /** Calls `renew` at every interval and after every reconnect. Returns a function that stops it. */
  onRenew(renew: () => void): () => void {
    this.#renewals.add(renew);
    return () => this.#renewals.delete(renew);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelRetry();
    this.#cancelRenewal();
    await this.#connecting;
    const client = this.#client;
    this.#client = undefined;
    if (!client) return;
    // A client that is destroyed while it closes may never report its end.
    const { promise: isLate, resolve } = Promise.withResolvers<void>();
    const cancel = this.#options.clock.after(CONNECT_MS, resolve);
    await Promise.race([client.close().catch(() => {}), isLate]);
    client.destroy();
    cancel();
  }

  #connect(): Promise<void> {
    this.#connecting ??= this.#tryToConnect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #tryToConnect(): Promise<void> {
    const { url, clock } = this.#options;
    let client: RedisClient | undefined;
    let earlyError: Error | undefined;
    const onError = (error: Error): void => {
      earlyError ??= error;
      if (client) this.#disconnect(client, error);
    };
    try {
      client = await openRedisClient({ url, clock, timeoutMs: CONNECT_MS, onError: onError });
      if (earlyError) throw earlyError;
    } catch (error) {
      client?.destroy();
      this.#reportState(false, error);
      return this.#retry();
    }
    if (this.#isClosed) return client.destroy();
    this.#client = client;
    this.#upSince = clock.elapsed();
    this.#reportState(true);
    this.#renewAll();
  }

  #disconnect(client: RedisClient, error: Error): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    client.destroy();
    if (this.#options.clock.elapsed() - this.#upSince > STABLE_MS) this.#pause = RETRY_MS.min;
    this.#reportState(false, error);
    this.#retry();
  }

  #retry(): void {
    if (this.#isClosed) return;
    this.#cancelRetry = this.#options.clock.after(this.#pause, () => void this.#connect());
    this.#pause = Math.min(RETRY_MS.max, this.#pause * 2);
  }

  #reportState(isUp: boolean, error?: unknown): void {
    if (this.#reportedUp === isUp) return;
    this.#reportedUp = isUp;
    if (isUp) this.#options.log.info('limits.shared');
    else this.#options.log.warn('limits.local', { because: 'Redis is down', ...errorFields(error) });
    this.#options.onChange?.(isUp);
  }

  #scheduleRenewal(): void {
    this.#cancelRenewal = this.#options.clock.after(RENEW_MS, () => {
      this.#renewAll();
      this.#scheduleRenewal();
    });
  }

  #renewAll(): void {
    for (const renew of this.#renewals) renew();
  }
}
