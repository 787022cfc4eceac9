/** Several processes of one machine recover the journals of dead ones at the same time. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type LedgerFixture, openLedgerFixture } from '../../../test/support/ledger.ts';
import { ownIdentity, silentLog, systemClock } from '../../core/index.ts';
import { recoverDead } from './recover.ts';
import { newReplicaId } from './replica.ts';
import { UsageWriter } from './usage-writer.ts';

let fixture: LedgerFixture;
before(async () => {
  fixture = await openLedgerFixture(8);
});
after(() => fixture.close());

test('a folder that another process has recovered meanwhile is not a failure', async () => {
  const { db, dir } = fixture;
  const journalsDir = join(dir, 'journal');
  const long = new Date(Date.now() - 3_600_000);
  const dead = Array.from({ length: 40 }, newReplicaId);
  for (const id of dead) {
    mkdirSync(join(journalsDir, id), { recursive: true });
    utimesSync(join(journalsDir, id), long, long);
  }
  const failures: unknown[] = [];
  const log = { ...silentLog, error: (...entry: unknown[]) => void failures.push(entry) };
  const { id: ledgerId } = await db.selectFrom('ledger_identity').select('id').executeTakeFirstOrThrow();
  const recovered = await Promise.all(
    Array.from({ length: 4 }, () =>
      recoverDead({
        db,
        journalsDir,
        ledgerId,
        selfId: newReplicaId(),
        writer: new UsageWriter({ db, log }),
        clock: systemClock,
        log,
      }),
    ),
  );
  assert.deepEqual(failures, []);
  assert.deepEqual(recovered.flat().toSorted(), dead.toSorted(), 'each by one of them');
});

test('the journal of a dead process with another database waits until that database is used again', async () => {
  const { db, dir } = fixture;
  const journalsDir = join(dir, 'journals of two');
  const ids = [newReplicaId(), newReplicaId()];
  const { id: ledgerId } = await db.selectFrom('ledger_identity').select('id').executeTakeFirstOrThrow();
  for (const [n, ledger] of [ledgerId, 'of another database'].entries()) {
    const folder = join(journalsDir, ids[n] ?? '');
    mkdirSync(folder, { recursive: true });
    // No process has this number.
    writeFileSync(join(folder, 'owner.json'), JSON.stringify({ ...ownIdentity(), pid: 2 ** 30, ledger }));
  }
  const writer = new UsageWriter({ db, log: silentLog });
  const options = { db, journalsDir, ledgerId, selfId: newReplicaId(), writer, clock: systemClock, log: silentLog };
  assert.deepEqual(await recoverDead(options), [ids[0]]);
  assert.deepEqual(readdirSync(journalsDir), [ids[1]]);
});
