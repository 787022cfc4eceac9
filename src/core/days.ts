/** Hours and days, which are those of UTC. */
export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** Such as 2030-01-31. */
export const utcDay = (at: number | Date): string => new Date(at).toISOString().slice(0, 10);
