import assert from 'node:assert/strict';
import {
  appendFileSync,
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { usageRecord } from '../../../test/support/ledger-process.ts';
import { until } from '../../../test/support/wait.ts';
import { silentLog, systemClock } from '../../core/index.ts';
import type { UsageRecord } from '../usage-record.ts';
import { Journal, type JournalOptions } from './journal.ts';
import { listSegments, readSegment, type SegmentFile } from './segment.ts';

const folders: string[] = [];
const folder = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'dragoman-journal-'));
  folders.push(dir);
  return dir;
};
after(() => {
  for (const dir of folders) rmSync(dir, { recursive: true, force: true });
});

const open = (options: Partial<JournalOptions> = {}) => {
  const dir = folder();
  return { dir, journal: new Journal({ dir, clock: systemClock, log: silentLog, ...options }) };
};
const records = (count: number): UsageRecord[] =>
  Array.from({ length: count }, (_, n) => usageRecord('ann', BigInt(n)));
const contents = async (dir: string): Promise<UsageRecord[]> => {
  const all: UsageRecord[] = [];
  for (const path of await listSegments(dir)) all.push(...(await readSegment(path)).records);
  return all;
};

/** A working segment file, for tests that make one method fail. */
function openForTest(path: string): SegmentFile {
  const fd = openSync(path, 'ax');
  return {
    write: (bytes, offset) => writeSync(fd, bytes, offset),
    datasync: async () => {},
    close: () => closeSync(fd),
  };
}

test('whenWritten() resolves once all appended records are in the file', async () => {
  const { dir, journal } = open();
  const all = records(100);
  for (const record of all) journal.append(record);
  await journal.whenWritten();
  assert.deepEqual(await contents(dir), all);
  assert.deepEqual(journal.peek(10), all.slice(0, 10));
  assert.equal(journal.pending, 100);
  await journal.close();
});

test('Journal writes all records of one turn with one call', async () => {
  const writes: number[] = [];
  const { journal } = open({
    openSegment: (path) => {
      const file = openForTest(path);
      return {
        ...file,
        write: (bytes, offset) => {
          writes.push(bytes.length);
          return file.write(bytes, offset);
        },
      };
    },
  });
  for (const record of records(64)) journal.append(record);
  await journal.whenWritten();
  assert.equal(writes.length, 1);
  journal.append(usageRecord('ann', 1n));
  await until('the second write', () => writes.length === 2);
  for (const record of records(50)) journal.append(record);
  await journal.whenWritten();
  assert.equal(writes.length, 3);
  await journal.close();
});

test('Journal writes within a turn that does not end, and tells those who wait when that fails', async () => {
  let isFull = false;
  let writes = 0;
  const { dir, journal } = open({
    openSegment: (path) => {
      const file = openForTest(path);
      return {
        ...file,
        write: (bytes, offset) => {
          if (isFull) throw new Error('no space left');
          writes += 1;
          return file.write(bytes, offset);
        },
      };
    },
  });
  const appended = (count: number): Promise<boolean>[] =>
    records(count).map((record) => {
      journal.append(record);
      return journal.whenWritten().then(
        () => true,
        () => false,
      );
    });
  const first = appended(100);
  assert.equal(writes, 1);
  assert.ok((await Promise.all(first)).every((isWritten) => isWritten));
  isFull = true;
  const failed = appended(100);
  assert.ok((await Promise.all(failed)).every((isWritten) => !isWritten));
  isFull = false;
  await until('the next attempt', () => !journal.isFailing);
  assert.equal((await contents(dir)).length, 200);
  await journal.close();
});

test('Journal rotates full segments and removes those whose records are all flushed', async () => {
  const { dir, journal } = open({ segmentBytes: 1_000 });
  const all = records(12);
  for (const record of all) {
    journal.append(record);
    await journal.whenWritten();
  }
  const before = readdirSync(dir).length;
  assert.ok(before >= 4, `${before} segments`);
  assert.deepEqual(await contents(dir), all);
  journal.markFlushed(6);
  await until('the first segments to be removed', () => readdirSync(dir).length < before);
  const left = await contents(dir);
  for (const record of all.slice(6)) assert.ok(left.some(({ id }) => id === record.id));
  journal.markFlushed(6);
  await until('only the open segment to be left', () => readdirSync(dir).length === 1);
  assert.equal(journal.pending, 0);
  await journal.close();
});

test('Journal does not count records as pending that are flushed before they are written', async () => {
  const { dir, journal } = open({ segmentBytes: 100 });
  for (const record of records(3)) journal.append(record);
  journal.markFlushed(2);
  const last = usageRecord('ann', 9n);
  journal.append(last);
  await journal.whenWritten();
  assert.equal(journal.pending, 2);
  assert.deepEqual(journal.peek(5).at(-1), last);
  journal.markFlushed(2);
  journal.append(usageRecord('ann', 1n));
  await journal.whenWritten();
  await until('only the open segment to be left', () => readdirSync(dir).length === 1);
  await journal.close();
});

test('readSegment() skips a torn last line', async () => {
  const { dir, journal } = open();
  const all = records(3);
  for (const record of all) journal.append(record);
  await journal.whenWritten();
  await journal.close();
  const [path = ''] = await listSegments(dir);
  const bytes = readFileSync(path);
  const starts = [0, ...[...bytes.entries()].filter(([, byte]) => byte === 10).map(([at]) => at + 1)];
  for (let length = bytes.length - 1; length > (starts[2] ?? 0); length -= 7) {
    truncateSync(path, length);
    assert.deepEqual(await readSegment(path), { records: all.slice(0, 2), damaged: 0 });
  }
  writeFileSync(path, bytes);
  appendFileSync(path, Buffer.alloc(300));
  assert.deepEqual(await readSegment(path), { records: all, damaged: 0 });
});

test('readSegment() counts a damaged line and reads the others', async () => {
  const { dir, journal } = open();
  const all = records(5);
  for (const record of all) journal.append(record);
  await journal.whenWritten();
  await journal.close();
  const [path = ''] = await listSegments(dir);
  const bytes = readFileSync(path);
  const second = bytes.indexOf(10) + 60;
  bytes[second] = (bytes[second] ?? 0) ^ 1;
  writeFileSync(path, bytes);
  const { records: read, damaged } = await readSegment(path);
  assert.equal(damaged, 1);
  assert.deepEqual(
    read.map(({ id }) => id),
    all.filter((_, n) => n !== 1).map(({ id }) => id),
  );
});

test('Journal writes all records to a new segment when a write fails half-way', async () => {
  const clock = new FakeClock();
  let broken = true;
  const { dir, journal } = open({
    clock,
    openSegment: (path) => {
      const file = openForTest(path);
      return {
        ...file,
        write: (bytes, offset) => {
          if (!broken) return file.write(bytes, offset);
          if (offset > 0) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
          return file.write(bytes.subarray(0, Math.floor(bytes.length / 2)), offset);
        },
      };
    },
  });
  const all = records(4);
  for (const record of all) journal.append(record);
  await assert.rejects(journal.whenWritten(), /no space/);
  assert.equal(journal.pending, 4);
  assert.equal(journal.isFailing, true);
  await until('the torn segment is removed', () => readdirSync(dir).length === 0);
  broken = false;
  clock.advance(1_000);
  await journal.whenWritten();
  assert.equal(journal.isFailing, false);
  const ids = new Set((await contents(dir)).map(({ id }) => id));
  assert.deepEqual([...ids].toSorted(), all.map(({ id }) => id).toSorted());
  await journal.close();
});

test('Journal tries again soon while the disk is full, and logs the failure once', async () => {
  const clock = new FakeClock();
  let isFull = true;
  const failures: string[] = [];
  const log = { ...silentLog, error: (event: string) => void failures.push(event) };
  const { journal } = open({
    clock,
    log,
    openSegment: (path) => {
      const file = openForTest(path);
      const write = (bytes: Buffer, offset: number): number => {
        if (isFull) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
        return file.write(bytes, offset);
      };
      return { ...file, write };
    },
  });
  journal.append(usageRecord('ann', 1n));
  for (let attempt = 0; attempt < 20; attempt += 1) {
    await assert.rejects(journal.whenWritten(), /no space/);
    clock.advance(100);
  }
  assert.deepEqual(failures, ['journal.failed']);
  await assert.rejects(journal.whenWritten(), /no space/);
  isFull = false;
  clock.advance(100);
  await journal.whenWritten();
  assert.equal(journal.isFailing, false);
  await journal.close();
});

test('moveTo() writes all pending records to the new folder', async () => {
  const { journal } = open();
  const all = records(5);
  for (const record of all) journal.append(record);
  await journal.whenWritten();
  journal.markFlushed(2);
  const other = folder();
  await journal.moveTo(other);
  assert.deepEqual(await contents(other), all.slice(2));
  const last = usageRecord('ann', 1n);
  journal.append(last);
  await journal.whenWritten();
  assert.deepEqual(await contents(other), [...all.slice(2), last]);
  await journal.close();
});

test('whenWritten() waits for fdatasync with the option sync', async () => {
  let synced = 0;
  const { journal } = open({
    sync: true,
    openSegment: (path) => ({
      ...openForTest(path),
      datasync: async () => {
        synced += 1;
      },
    }),
  });
  journal.append(usageRecord('ann', 1n));
  await journal.whenWritten();
  assert.equal(synced, 1);
  await journal.close();
});
