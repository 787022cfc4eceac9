/**
 * Values that are usually ready and only sometimes need a promise: `await` of a
 * ready value costs 75 ns instead of 10, and other requests run in between.
 */
export type MaybePromise<T> = T | Promise<T>;

/** Calls `next` at once when the value is ready, otherwise when the promise resolves. */
export const whenReady = <T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> =>
  value instanceof Promise ? value.then(next) : next(value);
