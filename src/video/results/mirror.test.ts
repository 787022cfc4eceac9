import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { until } from '../../../test/support/wait.ts';
import { createLog, systemClock } from '../../core/index.ts';
import { RESULT_MIRROR } from '../../rules/index.ts';
import type { TaskRow } from '../tasks/task.ts';
import { BrokenTransfer, type ByteStream } from './byte-stream.ts';
import { Mirror, type MirrorOptions } from './mirror.ts';
import type { MirroredResult } from './mirror-reading.ts';
import type { Result } from './result.ts';
import type { UpstreamFile } from './upstream-source.ts';

const DAY_MS = 86_400_000;
const BYTES = Buffer.from(Uint32Array.from({ length: 64 * 1024 }, (_, n) => n).buffer);

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dragoman-mirror-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const mirrorWith = (options: Partial<MirrorOptions> = {}): Mirror =>
  new Mirror({ folder, days: 7, maxBytes: 2 ** 30, clock: systemClock, log: createLog('silent'), ...options });

const resultNamed = (letter: string): Result => ({
  task: { id: `task_${letter}` } as TaskRow,
  kind: 'video',
  name: letter.repeat(40),
});

/** An upstream file that is sent in pieces; `gate` holds back all pieces after the first. */
class Origin {
  fetches = 0;
  isClosed = false;
  readonly bytes: Buffer;
  gate: Promise<void> = Promise.resolve();
  breaksAt = Number.POSITIVE_INFINITY;

  constructor(bytes = BYTES) {
    this.bytes = bytes;
  }

  readonly fetch = async (): Promise<UpstreamFile> => {
    this.fetches += 1;
    let at = 0;
    const body: ByteStream = {
      next: async () => {
        if (at > 0) await this.gate;
        if (at >= this.breaksAt) throw new BrokenTransfer('ECONNRESET');
        const chunk = this.bytes.subarray(at, at + 10_000);
        at += chunk.length;
        return chunk.length > 0 ? chunk : undefined;
      },
      close: () => {
        this.isClosed = true;
      },
    };
    return { type: 'video/mp4', size: this.bytes.length, range: undefined, body };
  };
}

async function read(result: MirroredResult | undefined, start = 0, end?: number): Promise<Buffer> {
  assert.ok(result, 'mirrored');
  const stream = result.read({ start, end: end ?? result.facts.size - 1 });
  const chunks: Buffer[] = [];
  try {
    for (let chunk = await stream.next(); chunk; chunk = await stream.next()) chunks.push(chunk);
  } finally {
    stream.close();
  }
  return Buffer.concat(chunks);
}

/**
 * Waits until the folder has `count` files, all finished: a reader may have all bytes before the file gets its name.
 */
const settled = (count: number): Promise<unknown> =>
  until('finished files', () => partsIn().length === 0 && readdirSync(folder).length === count);

const partsIn = (): string[] => readdirSync(folder).filter((name) => name.endsWith('.part'));

test('readers at the same time share one download, and later ones read the file', async () => {
  const [mirror, origin, result] = [mirrorWith(), new Origin(), resultNamed('a')];
  const reads = await Promise.all(
    Array.from({ length: 20 }, async (_, n) =>
      read(await mirror.open(result, origin.fetch), n * 1_000, n * 1_000 + 999),
    ),
  );
  for (const [n, bytes] of reads.entries()) assert.deepEqual(bytes, BYTES.subarray(n * 1_000, n * 1_000 + 1_000));
  const later = await mirror.open(result, origin.fetch);
  assert.deepEqual(later?.facts, { size: BYTES.length, type: 'video/mp4' });
  assert.deepEqual(await read(later), BYTES);
  assert.equal(origin.fetches, 1);
  await settled(1);
  assert.deepEqual(partsIn(), []);
});

test('a reader follows a download that is still running', async () => {
  const [mirror, origin, result] = [mirrorWith(), new Origin(), resultNamed('a')];
  const gate = Promise.withResolvers<void>();
  origin.gate = gate.promise;
  const first = await mirror.open(result, origin.fetch);
  assert.deepEqual(await read(first, 0, 99), BYTES.subarray(0, 100), 'before the download is over');
  const rest = mirror.open(result, origin.fetch).then((opened) => read(opened));
  gate.resolve();
  assert.deepEqual(await rest, BYTES);
});

test('replicas that share the folder share one download', async () => {
  const [origin, result] = [new Origin(), resultNamed('a')];
  const gate = Promise.withResolvers<void>();
  origin.gate = gate.promise;
  const replicas = Array.from({ length: 4 }, () => mirrorWith());
  const opened = await Promise.all(replicas.map((mirror) => mirror.open(result, origin.fetch)));
  const reads = opened.map((mirrored) => read(mirrored));
  gate.resolve();
  for (const bytes of await Promise.all(reads)) assert.deepEqual(bytes, BYTES);
  assert.equal(origin.fetches, 1);
});

test('a broken download breaks its readers, leaves no file, and the next reader begins again', async () => {
  const [mirror, origin, result] = [mirrorWith(), new Origin(), resultNamed('a')];
  origin.breaksAt = 50_000;
  await assert.rejects(async () => read(await mirror.open(result, origin.fetch)), { code: 'ECONNRESET' });
  assert.deepEqual(readdirSync(folder), []);
  origin.breaksAt = Number.POSITIVE_INFINITY;
  assert.deepEqual(await read(await mirror.open(result, origin.fetch)), BYTES);
});

test('an upstream that sends fewer or more bytes than it announced is a broken download', async () => {
  for (const [letter, size] of [
    ['a', BYTES.length + 1],
    ['b', BYTES.length - 1],
  ] as const) {
    const [mirror, origin] = [mirrorWith(), new Origin()];
    const fetch = async (): Promise<UpstreamFile> => ({ ...(await origin.fetch()), size });
    const opened = await mirror.open(resultNamed(letter), fetch);
    await assert.rejects(read(opened), BrokenTransfer);
    assert.deepEqual(readdirSync(folder), []);
  }
});

test('an abandoned download is taken over by exactly one replica', async () => {
  const [origin, result] = [new Origin(), resultNamed('a')];
  const abandoned = join(folder, `${result.name}.0.part`);
  writeFileSync(abandoned, 'half');
  const long = new Date(Date.now() - 2 * RESULT_MIRROR.abandonedMs);
  utimesSync(abandoned, long, long);
  const replicas = Array.from({ length: 4 }, () => mirrorWith());
  for (const bytes of await Promise.all(replicas.map(async (mirror) => read(await mirror.open(result, origin.fetch)))))
    assert.deepEqual(bytes, BYTES);
  assert.equal(origin.fetches, 1);
  await until('the finished file', () => readdirSync(folder).includes(result.name));
  assert.deepEqual(partsIn(), [`${result.name}.0.part`]);
  await mirrorWith().cleanUp();
  assert.deepEqual(readdirSync(folder), [result.name]);
});

test('the clean-up removes old results, keeps young ones, downloads in progress and foreign files', async () => {
  const [mirror, origin] = [mirrorWith({ days: 3 }), new Origin()];
  for (const letter of ['a', 'b']) await read(await mirror.open(resultNamed(letter), origin.fetch));
  await settled(2);
  const old = new Date(Date.now() - 4 * DAY_MS);
  utimesSync(join(folder, 'a'.repeat(40)), old, old);
  writeFileSync(join(folder, `${'c'.repeat(40)}.0.part`), 'in progress');
  writeFileSync(join(folder, 'notes.txt'), 'of the operator');
  utimesSync(join(folder, 'notes.txt'), old, old);
  assert.equal(await mirror.cleanUp(), 1);
  assert.deepEqual(readdirSync(folder).sort(), ['b'.repeat(40), `${'c'.repeat(40)}.0.part`, 'notes.txt']);
});

test('the oldest results are removed when a new one needs their room', async () => {
  const size = BYTES.length + 512;
  const [mirror, origin] = [mirrorWith({ maxBytes: 3 * size }), new Origin()];
  for (const [n, letter] of ['a', 'b', 'c', 'd', 'e'].entries()) {
    await read(await mirror.open(resultNamed(letter), origin.fetch));
    await settled(Math.min(n + 1, 3));
    const at = new Date(Date.now() - 60_000 + n * 1_000);
    utimesSync(join(folder, letter.repeat(40)), at, at);
  }
  assert.deepEqual(
    readdirSync(folder).sort(),
    ['c', 'd', 'e'].map((letter) => letter.repeat(40)),
  );
});

test('a result that is larger than the mirror is not mirrored, and not downloaded again for that', async () => {
  const [mirror, origin, result] = [mirrorWith({ maxBytes: BYTES.length - 1 }), new Origin(), resultNamed('a')];
  assert.equal(await mirror.open(result, origin.fetch), undefined);
  assert.equal(await mirror.open(result, origin.fetch), undefined);
  assert.equal(origin.fetches, 1);
  await until('the end of the download', () => origin.isClosed);
  assert.deepEqual(readdirSync(folder), []);
});

test('a missing folder is not created: results are not mirrored, and the provider is not asked for nothing', async () => {
  const missing = join(folder, 'not-mounted');
  const [mirror, origin] = [mirrorWith({ folder: missing }), new Origin()];
  assert.equal(await mirror.open(resultNamed('a'), origin.fetch), undefined);
  assert.equal(origin.fetches, 0);
  assert.deepEqual(readdirSync(folder), []);
});

test('a damaged file is removed and downloaded again', async () => {
  const [mirror, origin, result] = [mirrorWith(), new Origin(), resultNamed('a')];
  for (const content of [
    '',
    'x'.repeat(2_000),
    JSON.stringify({ version: 1, size: 9, type: 'video/mp4' }).padEnd(512),
  ]) {
    writeFileSync(join(folder, result.name), content);
    assert.deepEqual(await read(await mirror.open(result, origin.fetch)), BYTES);
    await settled(1);
  }
  assert.equal(origin.fetches, 3);
});

test('closing the mirror ends its downloads and removes their files', async () => {
  const [mirror, origin] = [mirrorWith(), new Origin()];
  const gate = Promise.withResolvers<void>();
  origin.gate = gate.promise;
  const opened = await mirror.open(resultNamed('a'), origin.fetch);
  origin.breaksAt = 0;
  const closing = mirror.close();
  gate.resolve();
  await closing;
  opened?.close();
  assert.ok(origin.isClosed);
  assert.deepEqual(readdirSync(folder), []);
});

test('a result is removed with its task', async () => {
  const [mirror, origin, result] = [mirrorWith(), new Origin(), resultNamed('a')];
  await read(await mirror.open(result, origin.fetch));
  await mirror.remove(result);
  assert.deepEqual(readdirSync(folder), []);
});
