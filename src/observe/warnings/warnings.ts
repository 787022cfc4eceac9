/** Warnings: their services bound once, the test of a destination, and its jobs. */
import { newId } from '../../core/index.ts';
import type { Job, StoreServices } from '../../platform/db/index.ts';
import { isDelivery, PublicFetcher, summaryOf } from '../../platform/outbound/index.ts';
import { WARNING_CHECK_MS } from '../../rules/index.ts';
import type { DestinationTest } from '../../schemas/index.ts';
import { checkWarnings, WARNING_WORK } from './check.ts';
import { deliverNotices, NOTICE_WORK, type SenderServices, sendNotice } from './deliver.ts';
import { readDestination } from './destinations.ts';
import { Mailer, type MailSettings } from './mail.ts';
import { expireNotices } from './notices.ts';

export interface WarningOptions extends StoreServices {
  readonly publicUrl: () => string;
  readonly allowedOrigins: readonly string[];
  readonly mail: MailSettings | undefined;
}

export type Warnings = ReturnType<typeof createWarnings>;

export function createWarnings(options: WarningOptions) {
  const { db, clock, log, sealer, mail, allowedOrigins } = options;
  const services: SenderServices = {
    ...options,
    fetcher: new PublicFetcher({ allow: allowedOrigins, clock }),
    mailer: mail && new Mailer(mail, log),
  };
  const jobs: readonly Job[] = [
    { name: 'warnings.check', everyMs: WARNING_CHECK_MS, needs: WARNING_WORK, run: () => checkWarnings(db, clock) },
    { name: 'notices.deliver', everyMs: 1_000, needs: NOTICE_WORK, run: () => deliverNotices(services) },
    { name: 'notices.expire', everyMs: 3_600_000, run: () => expireNotices(db) },
  ];
  return {
    sealer,
    hasMail: mail !== undefined,
    /** Sends a test notice at once, also in quiet hours, and waits for the outcome. Nothing is stored. */
    async test(owner: string, destinationId: string): Promise<DestinationTest> {
      const target = await readDestination(db, owner, destinationId);
      const begun = clock.now();
      const result = await sendNotice(services, target, { id: newId('notice'), at: begun, content: undefined });
      return {
        object: 'warning_destination_test',
        id: destinationId,
        delivered: isDelivery(result),
        ...summaryOf(result),
        duration_ms: Math.max(0, Math.round(clock.now() - begun)),
      };
    },
    jobs,
  };
}
