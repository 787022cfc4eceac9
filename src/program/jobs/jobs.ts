/** The table of background jobs. A new job is a row here and a function in its module. */
import { erasureJob, expireSignIns } from '../../access/people/index.ts';
import { type Clock, type Log, parseNanos, type Sealer } from '../../core/index.ts';
import * as gateway from '../../gateway/index.ts';
import * as ledger from '../../ledger/index.ts';
import { expireCaptures, RequestRollUp, removeOldRequests, removeOldRollUps } from '../../observe/request-log/index.ts';
import type { Warnings } from '../../observe/warnings/index.ts';
import type { Config } from '../../platform/config.ts';
import type { Database, Job, RevisionWatch } from '../../platform/db/index.ts';
import { VIDEO_CHECKS, type Video } from '../../video/index.ts';
import { reseal } from './reseal.ts';

export interface JobServices {
  readonly database: Database;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly log: Log;
  readonly video: Pick<Video, 'jobs' | 'eraseUser'>;
  readonly background: Pick<gateway.Background, 'jobs' | 'eraseUser'>;
  readonly warnings: Pick<Warnings, 'jobs'>;
  readonly watch: Pick<RevisionWatch, 'onWork' | 'read'>;
  readonly config: Pick<Config, 'USAGE_RETENTION_MONTHS' | 'ALARM_CHECK_MS' | 'REQUEST_LOG_DAYS' | 'FILE_PRICE'>;
}

export const jobsFor = ({ database, sealer, clock, log, config, ...modules }: JobServices): Job[] => {
  const retention = () => ({ months: config.USAGE_RETENTION_MONTHS, now: clock.now() });
  const rollUp = new RequestRollUp(database, clock);
  const days = config.REQUEST_LOG_DAYS;
  const price = parseNanos(config.FILE_PRICE) ?? 0n;
  return [
    // The key changes only with a restart. Later runs are for what replicas with the old one have sealed.
    { name: 'secrets.reseal', everyMs: 600_000, run: () => reseal(database.db, sealer) },
    // Also verifies the ledger.
    {
      name: 'alarms.check',
      everyMs: config.ALARM_CHECK_MS,
      run: () => ledger.checkAlarms(database.db, log, { ...ledger.LEDGER_CHECKS, ...VIDEO_CHECKS }).then(() => 0),
    },
    { name: 'sessions.expire', everyMs: 600_000, run: () => expireSignIns(database.db, clock.now()) },
    { name: 'files.expire', everyMs: 600_000, run: () => gateway.expireFiles(database.db) },
    { name: 'files.charge', everyMs: 600_000, run: () => gateway.chargeFiles({ db: database.db, clock, price }) },
    { name: 'batches.expire', everyMs: 600_000, run: () => gateway.expireBatches(database.db) },
    { name: 'conversations.expire', everyMs: 600_000, run: () => gateway.expireConversations(database.db) },
    { name: 'objects.expire', everyMs: 600_000, run: () => gateway.expireObjects(database.db) },
    { name: 'responses.expire', everyMs: 600_000, run: () => gateway.expireResponses(database.db) },
    { name: 'usage.totals', everyMs: 600_000, run: () => ledger.sumOldDays(database.db) },
    { name: 'usage.monthly', everyMs: 3_600_000, run: () => ledger.sumOldMonths(database) },
    { name: 'usage.months', everyMs: 3_600_000, run: () => ledger.removeOldMonths(database, retention()) },
    { name: 'requests.roll_up', everyMs: 60_000, run: () => rollUp.run() },
    {
      name: 'requests.days',
      everyMs: 3_600_000,
      run: () => removeOldRequests(database.db, { days, now: clock.now() }),
    },
    { name: 'captures.expire', everyMs: 3_600_000, run: () => expireCaptures(database.db) },
    { name: 'requests.roll_ups', everyMs: 3_600_000, run: () => removeOldRollUps(database.db, clock.now()) },
    ...modules.video.jobs,
    ...modules.background.jobs,
    ...modules.warnings.jobs,
    erasureJob({ db: database.db, log, owners: [modules.video, modules.background] }),
    { name: 'usage.quarantine', everyMs: 3_600_000, run: () => ledger.removeOldQuarantine(database.db, retention()) },
  ];
};
