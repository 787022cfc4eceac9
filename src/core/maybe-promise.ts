/**
 * Values that are usually ready and only sometimes need a promise: a body that arrived with its head, a cached key, a local limit.
 * `await` of a ready value still costs a turn of the microtask queue: 75 ns instead of 10 ns, and other requests run in between.
 */
export type MaybePromise<T> = T | Promise<T>;

/** Calls `next` at once when the value is ready, otherwise when the promise resolves. */
export const whenReady = <T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> =>
  value instanceof Promise ? value.then(next) : next(value);
