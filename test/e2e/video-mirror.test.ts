/** Delivery of video results from the mirror: one download for all readers and replicas, and the provider when the folder fails. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { KEYS, startVideo, type VideoFixture } from '../support/video.ts';
import {
  callsOf,
  contentPath,
  lastFramePath,
  leaveEarly,
  readResult,
  succeed,
  upstreamUrl,
} from '../support/video-results.ts';
import { until } from '../support/wait.ts';

const folder = mkdtempSync(join(tmpdir(), 'dragoman-results-'));
let fixture: VideoFixture;
let replica: TestGateway;
before(async () => {
  fixture = await startVideo({
    worker: true,
    video: { queuedMs: 10, runningMs: 10 },
    env: { RESULT_MIRROR_DIR: folder },
  });
  replica = await startGateway({ database: fixture.gateway.database, env: { RESULT_MIRROR_DIR: folder } });
});
after(async () => {
  await replica.stop();
  await fixture.close();
  rmSync(folder, { recursive: true, force: true });
});

const downloadsOf = (id: string) => callsOf(fixture, id, 'download');
const finishedFiles = () => readdirSync(folder).filter((name) => !name.endsWith('.part'));

test('V 4.6 r3: 100 parallel readers of ranges on two replicas cost one download', async () => {
  const id = await succeed(fixture, { words: 'file_bytes=2000000; on=download; slow=300' });
  const readers = await Promise.all(
    Array.from({ length: 100 }, (_, n) =>
      readResult({ gateway: n % 2 === 0 ? fixture.gateway : replica }, contentPath(id), {
        range: `bytes=${n * 20_000}-${n * 20_000 + 19_999}`,
      }),
    ),
  );
  for (const { status, headers } of readers)
    assert.deepEqual([status, headers.get('cache-control')], [206, 'private, no-store']);
  assert.equal(downloadsOf(id).length, 1);
  const whole = await readResult(fixture, contentPath(id));
  assert.deepEqual(Buffer.concat(readers.map(({ bytes }) => bytes)), whole.bytes);
  assert.equal(whole.headers.get('content-type'), 'video/mp4');
  assert.equal(downloadsOf(id).length, 1);
});

test('V 4.6 r3: ranges, their errors and HEAD are the same from the mirror', async () => {
  const id = await succeed(fixture, { words: 'last_frame=jpeg', body: { return_last_frame: true } });
  for (const [path, type] of [
    [contentPath(id), 'video/mp4'],
    [lastFramePath(id), 'image/jpeg'],
  ] as const) {
    const { bytes, headers } = await readResult(fixture, path);
    const { length } = bytes;
    assert.equal(headers.get('content-type'), type);
    const suffix = await readResult(fixture, path, { range: 'bytes=-7' });
    assert.deepEqual([suffix.status, suffix.bytes], [206, bytes.subarray(-7)]);
    assert.equal(suffix.headers.get('content-range'), `bytes ${length - 7}-${length - 1}/${length}`);
    const behind = await readResult(fixture, path, { range: `bytes=${length}-` });
    assert.deepEqual([behind.status, behind.headers.get('content-range')], [416, `bytes */${length}`]);
    const head = await readResult(fixture, path, { method: 'HEAD' });
    assert.deepEqual([head.status, head.headers.get('content-length')], [200, String(length)]);
  }
  assert.equal(downloadsOf(id).length, 2, 'the video and its last frame');
});

test('a mirrored result is served when the provider has it no longer', async () => {
  const id = await succeed(fixture);
  const { bytes } = await readResult(fixture, contentPath(id));
  await until('the finished file', () => finishedFiles().length > 0);
  fixture.sim.video.settings.downloadLimit = 1;
  try {
    assert.equal((await fetch(await upstreamUrl(fixture, id))).status, 403);
    assert.deepEqual((await readResult({ gateway: replica }, contentPath(id))).bytes, bytes);
  } finally {
    fixture.sim.video.settings.downloadLimit = 100;
  }
});

test('V 4.6 r4: a result that has expired before its first read is 410 with a mirror too', async () => {
  const id = await succeed(fixture, { words: 'urls=dead' });
  const readers = await Promise.all(Array.from({ length: 10 }, () => readResult(fixture, contentPath(id))));
  for (const { status, error } of readers) assert.deepEqual([status, error], [410, 'video_result_expired']);
});

test('V 4.6 r4: a broken download is cut for its readers and leaves nothing', async () => {
  const id = await succeed(fixture, { words: 'file_bytes=400000' });
  const files = readdirSync(folder).length;
  fixture.sim.video.next('on=download; reset_mid');
  const response = await fetch(fixture.gateway.url + contentPath(id), {
    headers: { authorization: `Bearer ${KEYS.ana}` },
  });
  assert.equal(response.status, 200);
  await assert.rejects(response.arrayBuffer(), /terminated/);
  await until('the removal', () => readdirSync(folder).length === files);
  assert.equal((await readResult(fixture, contentPath(id))).bytes.length, 400_000);
});

test('the download goes on when its first reader disconnects', async () => {
  const id = await succeed(fixture, { words: 'file_bytes=40000; on=download; drip=5' });
  await leaveEarly(fixture, contentPath(id));
  assert.equal((await readResult(fixture, contentPath(id))).bytes.length, 40_000);
  await until('the end of the download', () => downloadsOf(id).every(({ outcome }) => outcome === 'sent'));
  assert.equal(downloadsOf(id).length, 1);
});

test('deleting a task removes its mirrored result', async () => {
  const id = await succeed(fixture, { variant: 'A' });
  const before = finishedFiles().length;
  await readResult(fixture, contentPath(id));
  await until('the finished file', () => finishedFiles().length === before + 1);
  assert.equal((await readResult(fixture, `/v1/videos/${id}`, { method: 'DELETE' })).status, 200);
  assert.equal(finishedFiles().length, before);
});

test('a full disk in the middle of a download does not break its readers', async () => {
  const id = await succeed(fixture, { words: 'file_bytes=3000000' });
  const undo = await fillDisk(5);
  try {
    const readers = await Promise.all([
      readResult(fixture, contentPath(id)),
      readResult(fixture, contentPath(id), { range: 'bytes=2000000-' }),
    ]);
    undo();
    const file = Buffer.from(await (await fetch(await upstreamUrl(fixture, id))).arrayBuffer());
    assert.deepEqual(
      readers.map(({ status }) => status),
      [200, 206],
    );
    assert.deepEqual(readers[0]?.bytes, file);
    assert.deepEqual(readers[1]?.bytes, file.subarray(2_000_000));
  } finally {
    undo();
  }
  assert.ok(fixture.gateway.log.some(({ msg, fault }) => msg === 'result.mirror_failed' && fault === 'ENOSPC'));
  assert.ok(!readdirSync(folder).some((name) => name.endsWith('.part')));
});

/** Lets file writes of this process fail after a number of them. Returns how to undo it. */
async function fillDisk(after: number): Promise<() => void> {
  const handle = await open(import.meta.filename);
  await handle.close();
  const prototype = Object.getPrototypeOf(handle) as { write: FileHandle['write'] };
  const { write } = prototype;
  let left = after;
  prototype.write = async function full(this: FileHandle, ...args: unknown[]) {
    left -= 1;
    if (left < 0) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC', syscall: 'write' });
    return Reflect.apply(write, this, args);
  } as FileHandle['write'];
  return () => {
    prototype.write = write;
  };
}

test('without the folder results come from the provider', async (t) => {
  const gateway = await startGateway({
    database: fixture.gateway.database,
    env: { RESULT_MIRROR_DIR: join(folder, 'not-mounted') },
  });
  t.after(() => gateway.stop());
  const id = await succeed(fixture);
  for (let n = 0; n < 2; n += 1) assert.equal((await readResult({ gateway }, contentPath(id))).status, 200);
  assert.equal(downloadsOf(id).length, 2);
  assert.ok(gateway.log.some(({ msg, fault }) => msg === 'result.mirror_failed' && fault === 'ENOENT'));
});

test('the worker mirrors results when their task has succeeded, so that they outlive their address', async (t) => {
  const gateway = await startGateway({
    database: fixture.gateway.database,
    worker: true,
    env: { RESULT_MIRROR_DIR: folder, RESULT_MIRROR_AT: 'success' },
  });
  t.after(() => gateway.stop());
  const id = await succeed(fixture, { body: { return_last_frame: true } });
  await until('the mirrored task', () =>
    fixture.gateway.context.database.db
      .selectFrom('video_tasks')
      .select('id')
      .where('id', '=', id)
      .where('mirrored_at', 'is not', null)
      .executeTakeFirst(),
  );
  assert.equal(downloadsOf(id).length, 2);
  for (const path of [contentPath(id), lastFramePath(id)])
    assert.equal((await readResult({ gateway }, path)).status, 200);
  assert.equal(downloadsOf(id).length, 2);
});
