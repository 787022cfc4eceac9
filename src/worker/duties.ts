/** The table of background duties. A new one is a row here and a function in its module. */
import type { Sealer } from '../core/index.ts';
import type { Database } from '../db/index.ts';
import { checkLedger } from '../ledger/index.ts';
import { expireResponses } from './expire.ts';
import type { Duty } from './loop.ts';
import { reseal } from './reseal.ts';

export interface DutyParts {
  readonly database: Database;
  readonly sealer: Sealer;
}

export const dutiesOf = ({ database, sealer }: DutyParts): Duty[] => [
  { name: 'secrets.reseal', everyMs: 60_000, run: () => reseal(database.db, sealer) },
  // Throws with the rows that do not add up; the loop logs it, and the next minute looks again.
  { name: 'ledger.check', everyMs: 60_000, run: () => checkLedger(database.db).then(() => 0) },
  { name: 'responses.expire', everyMs: 600_000, run: () => expireResponses(database.db) },
];
