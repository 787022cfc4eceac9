/** Workers that follow video tasks without waiting: a test starts their rounds and moves the time itself. */
import { sql } from 'kysely';
import { type Clock, systemClock } from '../../src/core/index.ts';
import type { Db } from '../../src/platform/db/index.ts';
import { UpstreamClient } from '../../src/providers/upstream/index.ts';
import { ACCOUNT_RATES } from '../../src/rules/index.ts';
import { type ApplyServices, expireTasks } from '../../src/video/tasks/apply.ts';
import { Follower } from '../../src/video/tasks/follow.ts';
import { VideoProvider } from '../../src/video/upstream/client.ts';
import type { TestGateway } from './gateway.ts';

export interface TestWorkers {
  readonly services: ApplyServices & { readonly provider: VideoProvider; readonly pollsPerSecond: number };
  /** A new worker with unused request rates. */
  worker(): Follower;
  /** Looks at every task that is due, with two workers at the same time, and expires the overdue ones. */
  round(): Promise<void>;
  close(): void;
}

export function testWorkers(gateway: TestGateway, clock: Clock = systemClock): TestWorkers {
  const upstream = new UpstreamClient(clock);
  const { database, log } = gateway.context;
  const services = {
    db: database.db,
    catalog: gateway.catalog,
    clock,
    log,
    publicUrl: () => gateway.url,
    provider: new VideoProvider(upstream),
    pollsPerSecond: ACCOUNT_RATES.getsPerSecond,
  };
  const worker = (): Follower => new Follower(services);
  return {
    services,
    worker,
    async round() {
      for (let taken = 1; taken > 0; ) {
        const workers = [worker(), worker()];
        taken = Math.max(...(await Promise.all(workers.map((one) => one.run()))));
        await Promise.all(workers.map((one) => one.whenIdle()));
      }
      await expireTasks(services);
    },
    close: () => upstream.close(),
  };
}

/** Makes every task older, as if that time had passed. */
export async function passTime(db: Db, ms: number): Promise<void> {
  const by = sql`${ms} * interval '1 millisecond'`;
  await sql`
    update video_tasks set created_at = created_at - ${by}, expires_at = expires_at - ${by}, next_check_at = next_check_at - ${by},
      missing_since = missing_since - ${by}, review_until = review_until - ${by}
    where finished_at is null or review_until is not null`.execute(db);
}

/** Makes the task due for a check, by a second: the system clock may step back between two statements. */
export async function makeDue(db: Db, id: string): Promise<void> {
  await sql`update video_tasks set next_check_at = now() - interval '1 second' where id = ${id} and next_check_at is not null`.execute(
    db,
  );
}
