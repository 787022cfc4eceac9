/**
 * Responses of the database that are lost or late: the statement is executed, but its caller gets a connection error,
 * or waits.
 */
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';

export interface LossyStatement {
  readonly name: string;
  readonly pattern: RegExp;
  /** One response in this many is lost. */
  readonly oneIn: number;
}

/** The driver takes a text, or an object with it. */
function textOf(query: unknown): string {
  if (typeof query === 'string') return query;
  return typeof query === 'object' && query !== null && 'text' in query ? String(query.text) : '';
}

export interface LostResponses {
  /** Number of lost responses by the name of their statement. */
  readonly counts: Readonly<Record<string, number>>;
  restore(): void;
}

/** Affects all connections of this process until `restore`. `below` returns a random integer below its argument. */
export function loseResponses(statements: readonly LossyStatement[], below: (limit: number) => number): LostResponses {
  const counts: Record<string, number> = {};
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = async function (this: pg.Client, ...args: unknown[]) {
    const result = await (query as (...args: unknown[]) => Promise<unknown>).apply(this, args);
    const lossy = statements.find(({ pattern }) => pattern.test(textOf(args[0])));
    if (!lossy || below(lossy.oneIn) > 0) return result;
    counts[lossy.name] = (counts[lossy.name] ?? 0) + 1;
    this.connection.stream.destroy();
    throw Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });
  } as typeof query;
  return {
    counts,
    restore: () => {
      pg.Client.prototype.query = query;
    },
  };
}

export interface LostCommit {
  /** Chooses the connection whose statement was executed last. */
  mark(): void;
  isLost(): boolean;
  restore(): void;
}

/** Loses the response of the next commit of one connection: others of this process commit meanwhile. */
export function loseCommitOf(): LostCommit {
  let last: pg.Client | undefined;
  let marked: pg.Client | undefined;
  let isLost = false;
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = async function (this: pg.Client, ...args: unknown[]) {
    const result = await (query as (...args: unknown[]) => Promise<unknown>).apply(this, args);
    last = this;
    if (isLost || this !== marked || textOf(args[0]) !== 'commit') return result;
    isLost = true;
    throw Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });
  } as typeof query;
  return {
    mark: () => {
      marked ??= last;
    },
    isLost: () => isLost,
    restore: () => {
      pg.Client.prototype.query = query;
    },
  };
}

export interface HeldResponse {
  /** Resolves when the statement was executed. */
  readonly executed: Promise<void>;
  release(): void;
}

/** Holds the response of the next statement that matches, until `release`. */
export function holdResponse(pattern: RegExp): HeldResponse {
  const executed = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = async function (this: pg.Client, ...args: unknown[]) {
    const result = await (query as (...args: unknown[]) => Promise<unknown>).apply(this, args);
    if (!pattern.test(textOf(args[0]))) return result;
    pg.Client.prototype.query = query;
    executed.resolve();
    await released.promise;
    return result;
  } as typeof query;
  return { executed: executed.promise, release: released.resolve };
}

/**
 * Every statement of this process takes this much longer until `restore`, half of it before the database executes it.
 */
export function delayStatements(ms: number): { restore(): void } {
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = async function (this: pg.Client, ...args: unknown[]) {
    await pause(ms / 2);
    const result = await (query as (...args: unknown[]) => Promise<unknown>).apply(this, args);
    await pause(ms / 2);
    return result;
  } as typeof query;
  return {
    restore: () => {
      pg.Client.prototype.query = query;
    },
  };
}

/** Statements that match fail without being executed, until `restore`. */
export function refuseStatements(pattern: RegExp): { readonly count: () => number; restore(): void } {
  let count = 0;
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = async function (this: pg.Client, ...args: unknown[]) {
    if (!pattern.test(textOf(args[0]))) return (query as (...args: unknown[]) => Promise<unknown>).apply(this, args);
    count += 1;
    throw Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });
  } as typeof query;
  return {
    count: () => count,
    restore: () => {
      pg.Client.prototype.query = query;
    },
  };
}
