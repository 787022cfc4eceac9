/** How many database connections the processes of one server open, so that they fit an embedded PostgreSQL. */

/** `max_connections` of an embedded PostgreSQL when it is created, and those of them that it keeps for superusers. */
export const EMBEDDED_CONNECTIONS = { total: 100, superusers: 3 } as const;

/** More workers would have to share less than `LEAST` each. */
export const MAX_EMBEDDED_WORKERS = 10;

/** Connections of one process: for calls and jobs, for reports to operators, for the data of people in the console. */
export interface PoolSizes {
  readonly main: number;
  readonly reports: number;
  readonly own: number;
}

/** A server of one process. */
export const ALONE: PoolSizes = { main: 10, reports: 5, own: 4 };

/** A worker that has less cannot work: a flush, another statement, and one that a call waits for. */
export const LEAST: PoolSizes = { main: 3, reports: 1, own: 1 };

/** What a process opens beside its pools: one to listen for changes, one that keeps the embedded PostgreSQL running. */
export const BESIDE_POOLS = 2;

/** Worker 1 runs the jobs: more in its main pool, and dedicated ones for roll-ups, sums of months and retention. */
export const JOBS = { main: 3, dedicated: 3 } as const;

/** Left for the primary, which works at the start only and then keeps two locks, and for commands such as `doctor`. */
export const PRIMARY_CONNECTIONS = 5;
export const COMMAND_CONNECTIONS = 3;
