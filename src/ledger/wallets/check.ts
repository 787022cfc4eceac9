/** The check of the whole ledger: recomputes every counter from the entries and reports the differences. Never repairs anything. */
import { sql } from 'kysely';
import type { Db } from '../../platform/db/index.ts';

export interface LedgerFault {
  readonly fault: string;
  readonly subject: string;
  readonly expected: string;
  readonly found: string;
}

/** Counters differ from the entries. An operator must find the cause before correcting them by hand. */
export class LedgerError extends Error {
  readonly faults: readonly LedgerFault[];
  constructor(faults: readonly LedgerFault[]) {
    const lines = faults.slice(0, 20).map((f) => `${f.fault}: ${f.subject} (expected ${f.expected}, found ${f.found})`);
    super(`The ledger does not add up.\n  ${lines.join('\n  ')}`);
    this.faults = faults;
  }
}

/** Reads every entry, so it takes seconds per million of them. */
export async function findLedgerFaults(db: Db): Promise<LedgerFault[]> {
  const { rows } = await sql<LedgerFault>`select * from ledger_faults() limit 1000`.execute(db);
  return rows;
}

/** Throws a `LedgerError` when a counter differs from its entries. */
export async function checkLedger(db: Db): Promise<void> {
  const faults = await findLedgerFaults(db);
  if (faults.length > 0) throw new LedgerError(faults);
}
