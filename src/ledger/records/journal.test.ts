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
import { usageRecord } from '../../../test/support/ledger-process.ts';
import { until } from '../../../test/support/wait.ts';
import { FakeClock, silentLog, systemClock } from '../../core/index.ts';
import type { UsageRecord } from '../usage-record.ts';
import { Journal, type JournalOptions, readSegment, type SegmentFile, segmentsOf } from './journal.ts';

const made: string[] = [];
const folder = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'dragoman-journal-'));
  made.push(dir);
  return dir;
};
after(() => {
  for (const dir of made) rmSync(dir, { recursive: true, force: true });
});

const begin = (options: Partial<JournalOptions> = {}) => {
  const dir = folder();
  return { dir, journal: new Journal({ dir, clock: systemClock, log: silentLog, ...options }) };
};
const records = (count: number): UsageRecord[] =>
  Array.from({ length: count }, (_, n) => usageRecord('ann', BigInt(n)));
const contents = async (dir: string): Promise<UsageRecord[]> => {
  const all: UsageRecord[] = [];
  for (const path of await segmentsOf(dir)) all.push(...(await readSegment(path)).records);
  return all;
};

/** A file as the journal wants it, to be spoilt by a test. */
function openForTest(path: string): SegmentFile {
  const fd = openSync(path, 'ax');
  return {
    write: (bytes, offset) => writeSync(fd, bytes, offset),
    datasync: async () => {},
    close: () => closeSync(fd),
  };
}

test('what was appended is in the file once it is said to be', async () => {
  const { dir, journal } = begin();
  const all = records(100);
  for (const record of all) journal.append(record);
  await journal.flushed();
  assert.deepEqual(await contents(dir), all);
  assert.deepEqual(journal.peek(10), all.slice(0, 10));
  assert.equal(journal.pending, 100);
  await journal.close();
});

test('one write for all that is appended in a turn, and while another write runs', async () => {
  const writes: number[] = [];
  const { journal } = begin({
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
  for (const record of records(500)) journal.append(record);
  await journal.flushed();
  assert.equal(writes.length, 1);
  journal.append(usageRecord('ann', 1n));
  await until('the second write', () => writes.length === 2);
  for (const record of records(50)) journal.append(record);
  await journal.flushed();
  assert.equal(writes.length, 3);
  await journal.close();
});

test('segments are begun anew when they are full, and removed when all they hold has been moved', async () => {
  const { dir, journal } = begin({ segmentBytes: 1_000 });
  const all = records(12);
  for (const record of all) {
    journal.append(record);
    await journal.flushed();
  }
  const before = readdirSync(dir).length;
  assert.ok(before >= 4, `${before} segments`);
  assert.deepEqual(await contents(dir), all);
  journal.moved(6);
  await until('the first ones to go', () => readdirSync(dir).length < before);
  const left = await contents(dir);
  for (const record of all.slice(6)) assert.ok(left.some(({ id }) => id === record.id));
  journal.moved(6);
  await until('only the current one', () => readdirSync(dir).length === 1);
  assert.equal(journal.pending, 0);
  await journal.close();
});

test('records that are moved while they are being written are not counted as waiting', async () => {
  const { dir, journal } = begin({ segmentBytes: 100 });
  for (const record of records(3)) journal.append(record);
  journal.moved(2);
  const last = usageRecord('ann', 9n);
  journal.append(last);
  await journal.flushed();
  assert.equal(journal.pending, 2);
  assert.deepEqual(journal.peek(5).at(-1), last);
  journal.moved(2);
  journal.append(usageRecord('ann', 1n));
  await journal.flushed();
  await until('only the current one', () => readdirSync(dir).length === 1);
  await journal.close();
});

test('a torn end is skipped, at whichever byte it was torn', async () => {
  const { dir, journal } = begin();
  const all = records(3);
  for (const record of all) journal.append(record);
  await journal.flushed();
  await journal.close();
  const [path = ''] = await segmentsOf(dir);
  const whole = readFileSync(path);
  const starts = [0, ...[...whole.entries()].filter(([, byte]) => byte === 10).map(([at]) => at + 1)];
  for (let length = whole.length - 1; length > (starts[2] ?? 0); length -= 7) {
    truncateSync(path, length);
    assert.deepEqual(await readSegment(path), { records: all.slice(0, 2), damaged: 0 });
  }
  writeFileSync(path, whole);
  appendFileSync(path, Buffer.alloc(300));
  assert.deepEqual(await readSegment(path), { records: all, damaged: 0 });
});

test('a damaged line costs itself only, and is counted', async () => {
  const { dir, journal } = begin();
  const all = records(5);
  for (const record of all) journal.append(record);
  await journal.flushed();
  await journal.close();
  const [path = ''] = await segmentsOf(dir);
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

test('a disk that fails half way loses nothing: it is all written again elsewhere', async () => {
  const clock = new FakeClock();
  let broken = true;
  const { dir, journal } = begin({
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
  await assert.rejects(journal.flushed(), /no space/);
  assert.equal(journal.pending, 4);
  assert.equal(journal.isFailing, true);
  await until('the torn segment is removed', () => readdirSync(dir).length === 0);
  broken = false;
  clock.advance(1_000);
  await journal.flushed();
  assert.equal(journal.isFailing, false);
  const ids = new Set((await contents(dir)).map(({ id }) => id));
  assert.deepEqual([...ids].toSorted(), all.map(({ id }) => id).toSorted());
  await journal.close();
});

test('a journal goes on in another folder with all that has not been moved', async () => {
  const { journal } = begin();
  const all = records(5);
  for (const record of all) journal.append(record);
  await journal.flushed();
  journal.moved(2);
  const other = folder();
  await journal.renew(other);
  assert.deepEqual(await contents(other), all.slice(2));
  const last = usageRecord('ann', 1n);
  journal.append(last);
  await journal.flushed();
  assert.deepEqual(await contents(other), [...all.slice(2), last]);
  await journal.close();
});

test('it can wait for the disk as well', async () => {
  let synced = 0;
  const { journal } = begin({
    sync: true,
    openSegment: (path) => ({
      ...openForTest(path),
      datasync: async () => {
        synced += 1;
      },
    }),
  });
  journal.append(usageRecord('ann', 1n));
  await journal.flushed();
  assert.equal(synced, 1);
  await journal.close();
});
