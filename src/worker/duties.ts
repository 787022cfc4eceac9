/** The table of background duties. A new one is a row here and a function in its module. */
import type { Sealer } from '../core/index.ts';
import type { Database } from '../db/index.ts';
import type { Duty } from './loop.ts';
import { reseal } from './reseal.ts';

export interface DutyParts {
  readonly database: Database;
  readonly sealer: Sealer;
}

export const dutiesOf = ({ database, sealer }: DutyParts): Duty[] => [
  { name: 'secrets.reseal', everyMs: 60_000, run: () => reseal(database.db, sealer) },
];
