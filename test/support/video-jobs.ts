/** The jobs of a video worker, run one at a time, and the state of rest that they must bring every task to. */
import assert from 'node:assert/strict';
import { sql } from 'kysely';
import type { VideoSim } from '../../sim/video/video-sim.ts';
import { checkLedger } from '../../src/ledger/index.ts';
import type { Db } from '../../src/platform/db/index.ts';
import { openWorkerServices } from '../../src/program/server/command-services.ts';
import type { TestGateway } from './gateway.ts';

export interface VideoJobs {
  /** Runs the job once, whatever its interval, with everything due. */
  run(name: string): Promise<void>;
  close(): Promise<void>;
}

/** A worker like that of `dragoman work`, beside the gateway and on its database. */
export async function openJobs({ context }: TestGateway): Promise<VideoJobs> {
  const { video, close } = await openWorkerServices(context);
  return {
    async run(name) {
      await makeDue(context.database.db);
      const job = video.jobs.find((one) => one.name === name);
      assert.ok(job, name);
      await job.run();
    },
    close,
  };
}

/** Makes the next check of every task due. */
export const makeDue = (db: Db) =>
  sql`update video_tasks set next_check_at = now() - interval '1 second' where next_check_at > now()`.execute(db);

/** Ends the time of submissions, of all users or of one, as if their replica had stopped long ago. */
export async function endLeases(db: Db, userId = '%'): Promise<void> {
  await sql`update video_tasks set submitter_until = now() - interval '1 second'
    where submitter_until > now() and user_id like ${userId}`.execute(db);
  await sql`update idempotency_records set owner_until = now() - interval '1 second'
    where finished_at is null and user_id like ${userId}`.execute(db);
}

/** What is not at rest: submissions under way, unfinished records, and holds without an open task or the reverse. */
export async function unrest(db: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ fault: string }>`
    select 'submission under way: ' || id as fault from video_tasks where submission in ('pending', 'sending')
    union all select 'unfinished record: ' || coalesce(resource_id, '-') from idempotency_records where finished_at is null
    union all
    select 'hold ' || coalesce(h.reference, 'missing') || ', task ' || coalesce(t.id, 'missing')
    from (select * from holds where reference like 'task:%' and state in ('held', 'review')) h
    full join (select * from video_tasks where finished_at is null and submission in ('confirmed', 'unknown')) t
      on h.reference = 'task:' || t.id
    where h.reference is null or t.id is null`.execute(db);
  return rows.map(({ fault }) => fault);
}

/** Everything is at rest, the ledger adds up, and the provider received each submission at most once. */
export async function expectRest(db: Db, { journal }: VideoSim): Promise<void> {
  assert.deepEqual(await unrest(db), []);
  await checkLedger(db);
  const repeated = Object.entries(journal.countCreates('callbackPath')).filter(([, { received }]) => received > 1);
  assert.deepEqual(repeated, [], 'the provider received a submission twice');
}
