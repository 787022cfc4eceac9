/**
 * What replicas share: scripts that run in Redis, if it answers at once. It never holds up a call for longer than 100 ms: who
 * asks is told that it is down and goes on alone, and the connection is tried again in the background until it is back.
 */
import { type Clock, errorFields, type Log } from '../core/index.ts';
import { openRedisClient, type RedisClient, type Script } from './client.ts';

export interface RedisOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly onChange?: (isUp: boolean) => void;
}

export class RedisDown extends Error {}

/**
 * Redis answers in well under a millisecond, and pauses for tens of them when it forks; a limit is not worth more waiting than 100.
 * Counted in steps, at most one for each turn of the loop: when this process is the one that is busy, the answer may be here already.
 */
const ANSWER_STEPS = 10;
const STEP_MS = 10;
const CONNECT_MS = 1_000;
/** The pause before the next attempt doubles while it does not last. */
const RETRY_MS = { least: 500, most: 5_000 } as const;
const LASTED_MS = 30_000;
/** What a replica has open is renewed this often, and is nobody's three times later: a replica that died holds no place for ever. */
const RENEW_MS = 20_000;
export const LEASE_MS = 3 * RENEW_MS;

export class Redis {
  readonly #options: RedisOptions;
  readonly #renewals = new Set<() => void>();
  #link: RedisClient | undefined;
  #upSince = 0;
  #pause: number = RETRY_MS.least;
  #connecting: Promise<void> | undefined;
  #cancelRetry = () => {};
  #cancelRenewal = () => {};
  #isClosed = false;
  /** Undefined before the first attempt has ended. */
  #told: boolean | undefined;

  constructor(options: RedisOptions) {
    this.#options = options;
  }

  /** Tries to connect once, and goes on trying in the background. */
  async start(): Promise<void> {
    this.#scheduleRenewal();
    await this.#connect();
  }

  get isUp(): boolean {
    return this.#link !== undefined;
  }

  /** Rejects when there is no answer at once; whether the script ran is then not known. */
  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const link = this.#link;
    if (!link) return Promise.reject(new RedisDown('not connected'));
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const fail = (error: Error): void => {
      this.#lose(link, error);
      reject(error);
    };
    const { clock } = this.#options;
    let left = ANSWER_STEPS;
    const step = (): void => {
      left -= 1;
      if (left === 0) fail(new RedisDown(`no answer within ${ANSWER_STEPS * STEP_MS} ms`));
      else cancel = clock.after(STEP_MS, step);
    };
    let cancel = clock.after(STEP_MS, step);
    link.run(script, keys, args).then(
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

  /** Without waiting for the answer; lost when it is down. Scripts of this replica run in the order in which they were sent. */
  post(script: Script, keys: readonly string[], args: readonly string[]): void {
    if (this.#link) this.run(script, keys, args).catch(() => {});
  }

  /** Ends a lease without waiting for the answer. While Redis is down it is ended when that is back, or has ended by itself. */
  end(script: Script, keys: readonly string[], args: readonly string[], later = args): void {
    const again = (): void => {
      const forget = this.keep(() => {
        if (!this.#link) return;
        cancel();
        forget();
        this.post(script, keys, later);
      });
      const cancel = this.#options.clock.after(LEASE_MS, forget);
    };
    if (this.#link) this.run(script, keys, args).catch(again);
    else again();
  }

  /** Calls `renew` again and again, and whenever the connection is back, until the answer is called. */
  keep(renew: () => void): () => void {
    this.#renewals.add(renew);
    return () => this.#renewals.delete(renew);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelRetry();
    this.#cancelRenewal();
    await this.#connecting;
    const link = this.#link;
    this.#link = undefined;
    if (!link) return;
    const cancel = this.#options.clock.after(CONNECT_MS, () => link.destroy());
    await link.close().catch(() => link.destroy());
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
    let link: RedisClient | undefined;
    let lost: Error | undefined;
    const onLost = (error: Error): void => {
      lost ??= error;
      if (link) this.#lose(link, error);
    };
    try {
      link = await openRedisClient({ url, clock, ms: CONNECT_MS, onLost });
      if (lost) throw lost;
    } catch (error) {
      link?.destroy();
      this.#tell(false, error);
      return this.#retry();
    }
    if (this.#isClosed) return link.destroy();
    this.#link = link;
    this.#upSince = clock.now();
    this.#tell(true);
    this.#renewAll();
  }

  #lose(link: RedisClient, error: Error): void {
    if (this.#link !== link) return;
    this.#link = undefined;
    link.destroy();
    if (this.#options.clock.now() - this.#upSince > LASTED_MS) this.#pause = RETRY_MS.least;
    this.#tell(false, error);
    this.#retry();
  }

  #retry(): void {
    if (this.#isClosed) return;
    this.#cancelRetry = this.#options.clock.after(this.#pause, () => void this.#connect());
    this.#pause = Math.min(RETRY_MS.most, this.#pause * 2);
  }

  #tell(isUp: boolean, error?: unknown): void {
    if (this.#told === isUp) return;
    this.#told = isUp;
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
