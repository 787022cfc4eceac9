/** Delivery of video results from the provider: ownership, ranges, expiry, broken transfers and few connections. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { RENEWAL_INTERVAL_MS, RESULT_READS } from '../../src/rules/index.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { HeldClock } from '../support/held-clock.ts';
import { longTest } from '../support/long-test.ts';
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

/** Readers wait for their turn, and the outcome of a renewal counts, until the test says that the time is over. */
const clock = new HeldClock(RESULT_READS.waitMs, RENEWAL_INTERVAL_MS);
let fixture: VideoFixture;
/** A server on the same tasks, with this clock. */
let patient: { readonly gateway: TestGateway };
before(async () => {
  fixture = await startVideo({ worker: true, video: { queuedMs: 10, runningMs: 10 } });
  patient = { gateway: await startGateway({ database: fixture.gateway.database, clock }) };
});
after(async () => {
  await patient.gateway.stop();
  await fixture.close();
});

const PRIVATE = 'private, no-store';
const downloadsOf = (id: string) => callsOf(fixture, id, 'download');

async function original(id: string, kind: 'video' | 'last_frame' = 'video'): Promise<Buffer> {
  const response = await fetch(await upstreamUrl(fixture, id, kind));
  return Buffer.from(await response.arrayBuffer());
}

test('V 4.6 r1: the content of a succeeded task is the video as the provider made it', async () => {
  const id = await succeed(fixture);
  const { status, headers, bytes } = await readResult(fixture, contentPath(id));
  assert.equal(status, 200);
  assert.deepEqual(bytes, await original(id));
  assert.equal(headers.get('content-type'), 'video/mp4');
  assert.equal(headers.get('accept-ranges'), 'bytes');
  assert.equal(headers.get('content-length'), String(bytes.length));
  assert.equal(headers.get('cache-control'), PRIVATE);
});

for (const format of ['png', 'jpeg'] as const)
  test(`V 4.6 r2: the last frame has the type that the provider sent, ${format}`, async () => {
    const id = await succeed(fixture, { words: `last_frame=${format}`, body: { return_last_frame: true } });
    const { status, headers, bytes } = await readResult(fixture, lastFramePath(id));
    assert.deepEqual([status, headers.get('content-type')], [200, `image/${format}`]);
    assert.deepEqual(bytes, await original(id, 'last_frame'));
  });

test('V 4.6 r2: a last frame that was not made is 404 last_frame_not_found', async () => {
  const { status, error, headers } = await readResult(fixture, lastFramePath(await succeed(fixture)));
  assert.deepEqual([status, error, headers.get('cache-control')], [404, 'last_frame_not_found', PRIVATE]);
});

test('V 4.6 r3: only keys of the owner read a result; all others see a missing task', async () => {
  const id = await succeed(fixture, { body: { return_last_frame: true } });
  const missing = `task_${'0'.repeat(22)}`;
  for (const path of [contentPath, lastFramePath]) {
    assert.equal((await readResult(fixture, path(id), { key: KEYS.ana2 })).status, 200);
    const foreign = await readResult(fixture, path(id), { key: KEYS.bob });
    const unknown = await readResult(fixture, path(missing), { key: KEYS.bob });
    assert.deepEqual([foreign.status, foreign.error], [404, 'task_not_found']);
    assert.equal(foreign.text, unknown.text);
    const anonymous = await readResult(fixture, path(id), { key: 'no-such-key-0000000000000000' });
    assert.deepEqual([anonymous.status, anonymous.error], [401, 'invalid_api_key']);
    for (const { headers } of [foreign, unknown, anonymous]) assert.equal(headers.get('cache-control'), PRIVATE);
  }
});

test('V 4.6 r3: one range is 206 with its bytes', async () => {
  const id = await succeed(fixture);
  const file = await original(id);
  const { length } = file;
  const cases: readonly [string, number, number][] = [
    ['bytes=0-9', 0, 9],
    ['bytes=5-', 5, length - 1],
    ['bytes=-5', length - 5, length - 1],
    ['bytes=0-0', 0, 0],
    ['Bytes=10-19', 10, 19],
    [`bytes=-${length + 10}`, 0, length - 1],
    [`bytes=7-${'9'.repeat(30)}`, 7, length - 1],
  ];
  for (const [range, start, end] of cases) {
    const { status, headers, bytes } = await readResult(fixture, contentPath(id), { range });
    assert.equal(status, 206, range);
    assert.equal(headers.get('content-range'), `bytes ${start}-${end}/${length}`);
    assert.equal(headers.get('content-type'), 'video/mp4');
    assert.equal(headers.get('cache-control'), PRIVATE);
    assert.deepEqual(bytes, file.subarray(start, end + 1));
  }
});

test('V 4.6 r3: a range behind the end is 416 with the size of the file', async () => {
  const id = await succeed(fixture);
  const { length } = await original(id);
  for (const range of [`bytes=${length}-`, 'bytes=-0', `bytes=${'9'.repeat(30)}-`]) {
    const { status, headers, error } = await readResult(fixture, contentPath(id), { range });
    assert.deepEqual([status, error], [416, 'invalid_request'], range);
    assert.equal(headers.get('content-range'), `bytes */${length}`);
    assert.equal(headers.get('cache-control'), PRIVATE);
  }
});

test('V 4.6 r3: a malformed range, another unit and several ranges get the whole file', async () => {
  const id = await succeed(fixture);
  const { length } = await original(id);
  for (const range of ['bytes=9-0', 'bytes=-', 'bytes', 'items=0-9', 'bytes=0-1,4-5', 'bytes=a-b', ''])
    assert.deepEqual(
      await readResult(fixture, contentPath(id), { range }).then(({ status, bytes }) => [status, bytes.length]),
      [200, length],
      range,
    );
});

test('V 4.6 r3: If-Range sends a part for the same file and the whole file otherwise', async () => {
  const id = await succeed(fixture);
  const { headers } = await readResult(fixture, contentPath(id));
  const [etag = '', date = ''] = [headers.get('etag') ?? undefined, headers.get('last-modified') ?? undefined];
  const read = (ifRange: string) =>
    readResult(fixture, contentPath(id), { range: 'bytes=0-3', headers: { 'if-range': ifRange } });
  for (const value of [etag, date]) assert.equal((await read(value)).status, 206, value);
  for (const value of ['"other"', `W/${etag}`, 'Thu, 01 Jan 1970 00:00:00 GMT'])
    assert.equal((await read(value)).status, 200, value);
});

test('V 4.6 r3: HEAD has the headers of the whole file and no body', async () => {
  const id = await succeed(fixture);
  const { length } = await original(id);
  const { status, headers, bytes } = await readResult(fixture, contentPath(id), { method: 'HEAD', range: 'bytes=0-3' });
  assert.deepEqual([status, bytes.length], [200, 0]);
  assert.equal(headers.get('content-length'), String(length));
  assert.equal(headers.get('content-type'), 'video/mp4');
  assert.equal(headers.get('cache-control'), PRIVATE);
});

test('V 4.6 r1: the variant thumbnail is the last frame, and any other one 400 unsupported_video_parameter', async () => {
  const id = await succeed(fixture);
  assert.equal((await readResult(fixture, `${contentPath(id)}?variant=video`)).status, 200);
  for (const variant of ['thumbnail', 'spritesheet', ''])
    assert.deepEqual(
      await readResult(fixture, `${contentPath(id)}?variant=${variant}`).then(({ status, error }) => [status, error]),
      [400, 'unsupported_video_parameter'],
    );
  const framed = await succeed(fixture, { body: { return_last_frame: true } });
  const [thumbnail, lastFrame] = [`${contentPath(framed)}?variant=thumbnail`, lastFramePath(framed)];
  assert.deepEqual((await readResult(fixture, thumbnail)).bytes, (await readResult(fixture, lastFrame)).bytes);
  for (const path of [`${contentPath(id)}?size=1`, `${lastFramePath(id)}?variant=video`])
    assert.equal((await readResult(fixture, path)).error, 'invalid_request');
});

test('V 4.6 r3: no host, address or header of the provider is in a response', async () => {
  const id = await succeed(fixture);
  const { host, pathname } = new URL(await upstreamUrl(fixture, id));
  const provider = await fetch(await upstreamUrl(fixture, id));
  const { headers } = await readResult(fixture, contentPath(id));
  const shown = JSON.stringify([...headers]);
  assert.ok(!shown.includes(host) && !shown.includes(pathname), shown);
  assert.notEqual(headers.get('etag'), provider.headers.get('etag'));
  assert.notEqual(headers.get('x-request-id'), provider.headers.get('x-request-id'));
  assert.deepEqual([...headers.keys()].sort(), [
    'accept-ranges',
    'cache-control',
    'connection',
    'content-disposition',
    'content-length',
    'content-security-policy',
    'content-type',
    'date',
    'etag',
    'keep-alive',
    'last-modified',
    'x-content-type-options',
    ...[...headers.keys()].filter((name) => name.startsWith('x-ratelimit-')),
    'x-request-id',
  ]);
});

test('V 4.6 r4: a dead address is renewed once, stored, and read', async () => {
  const id = await succeed(fixture, { words: 'urls=renewed' });
  const old = await upstreamUrl(fixture, id);
  fixture.sim.video.next('on=download; status=403');
  assert.equal((await readResult(fixture, contentPath(id))).status, 200);
  assert.notEqual(await upstreamUrl(fixture, id), old);
  assert.ok(fixture.gateway.log.some(({ msg, task }) => msg === 'result.renewed' && task === id));
  const gets = callsOf(fixture, id, 'get').length;
  assert.equal((await readResult(fixture, contentPath(id))).status, 200);
  assert.equal(callsOf(fixture, id, 'get').length, gets, 'the stored address is used');
});

test('V 4.6 r4: an address that cannot be renewed is 410 video_result_expired', async () => {
  const id = await succeed(fixture, { words: 'urls=dead', body: { return_last_frame: true } });
  for (const path of [contentPath(id), lastFramePath(id)]) {
    const { status, error, headers } = await readResult(fixture, path);
    assert.deepEqual([status, error, headers.get('cache-control')], [410, 'video_result_expired', PRIVATE]);
  }
});

test('V 4.6 r4: a result that the provider has forgotten is 410, and a provider that cannot be asked is 502', async () => {
  const id = await succeed(fixture, { words: 'urls=dead' });
  fixture.sim.video.next('on=get; status=500');
  assert.equal((await readResult(fixture, contentPath(id))).status, 502);
  fixture.sim.video.next('on=get; status=404');
  assert.equal((await readResult(fixture, contentPath(id))).status, 410);
});

test('V 4.6 r4: many readers of a dead address ask the provider once', async () => {
  const id = await succeed(fixture, { words: 'urls=dead' });
  const before = callsOf(fixture, id, 'get').length;
  const readers = await Promise.all(Array.from({ length: 20 }, () => readResult(patient, contentPath(id))));
  assert.ok(readers.every(({ status }) => status === 410));
  assert.equal(callsOf(fixture, id, 'get').length, before + 1);
});

/** Behind the tests that fail the next poll of a task: the worker goes on polling these tasks. */
test('V 4.6 r1: content and last frame of a task without success are 409 video_not_ready', async () => {
  for (const words of ['stuck=queued', 'stuck=running', 'fail=InternalServiceError']) {
    const id = await succeed(fixture, { words, until: words.startsWith('fail') ? 'failed' : undefined });
    for (const path of [contentPath(id), lastFramePath(id)]) {
      const { status, headers, error } = await readResult(fixture, path);
      assert.deepEqual([status, error], [409, 'video_not_ready'], words);
      assert.equal(headers.get('cache-control'), PRIVATE);
      assert.equal(headers.get('x-should-retry'), 'false');
    }
  }
});

test('V 4.6 r4: the result of a deleted task is 404 task_not_found', async () => {
  const id = await succeed(fixture, { variant: 'A' });
  assert.equal((await readResult(fixture, `/v1/videos/${id}`, { method: 'DELETE' })).status, 200);
  const { status, error, headers } = await readResult(fixture, contentPath(id));
  assert.deepEqual([status, error, headers.get('cache-control')], [404, 'task_not_found', PRIVATE]);
});

for (const fault of ['reset_mid', 'eof_mid'])
  test(`V 4.6 r4: a transfer that the provider breaks (${fault}) is cut, never ended`, async () => {
    const id = await succeed(fixture, { words: 'file_bytes=300000' });
    fixture.sim.video.next(`on=download; ${fault}`);
    const response = await fetch(fixture.gateway.url + contentPath(id), {
      headers: { authorization: `Bearer ${KEYS.ana}` },
    });
    assert.deepEqual([response.status, response.headers.get('content-length')], [200, '300000']);
    await assert.rejects(response.arrayBuffer(), /terminated/);
    await until('the log line', () =>
      fixture.gateway.log.some(({ msg, task }) => msg === 'result.transfer_cut' && task === id),
    );
  });

test('V 4.6 r4: a page of a proxy, an error or a redirect is never delivered as a result', async () => {
  const id = await succeed(fixture);
  for (const [fault, expected] of [
    ['html', 502],
    ['status=500', 502],
    ['status=503', 503],
    ['html; status=302', 502],
  ] as const) {
    fixture.sim.video.next(`on=download; ${fault}`);
    const { status, headers } = await readResult(fixture, contentPath(id));
    assert.deepEqual([status, headers.get('cache-control')], [expected, PRIVATE], fault);
  }
  assert.equal((await readResult(fixture, contentPath(id))).status, 200);
});

test('a client that disconnects aborts the download', async () => {
  const id = await succeed(fixture, { words: 'file_bytes=300000; on=download; drip=20' });
  await leaveEarly(fixture, contentPath(id));
  await until('the abort', () => downloadsOf(id).every(({ outcome }) => outcome === 'aborted'));
});

test('results are fetched only from the account, its result hosts and allowed origins', async () => {
  let requests = 0;
  const other = createServer((_request, response) => {
    requests += 1;
    response.end('secret');
  });
  other.listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const id = await succeed(fixture);
  for (const url of [
    `http://127.0.0.1:${port}/secret`,
    `http://localhost:${port}/secret`,
    'https://files.not-listed.net/video.mp4',
    'file:///etc/passwd',
    'nonsense',
  ]) {
    await fixture.gateway.context.database.db
      .updateTable('video_tasks')
      .set({ result_url: url })
      .where('id', '=', id)
      .execute();
    assert.equal((await readResult(fixture, contentPath(id))).status, 502, url);
  }
  assert.equal(requests, 0);
  other.close();
});

test('at most four upstream connections read one result; the others wait their turn', async () => {
  const id = await succeed(fixture, { words: 'file_bytes=30000; on=download; drip=2' });
  let max = 0;
  const watch = setInterval(() => {
    max = Math.max(max, downloadsOf(id).filter(({ outcome }) => outcome === 'open').length);
  }, 1);
  const reads = Array.from({ length: 40 }, (_, n) =>
    readResult(patient, contentPath(id), { range: `bytes=${n * 100}-${n * 100 + 2_999}` }),
  );
  const statuses = (await Promise.all(reads)).map(({ status }) => status);
  clearInterval(watch);
  assert.deepEqual(new Set(statuses), new Set([206]));
  assert.ok(max <= RESULT_READS.connections, `${max} at a time`);
  assert.ok(max > 1, 'some run in parallel');
});

longTest('a reader whose turn does not come gets 503 with retry-after', async () => {
  const id = await succeed(fixture, { words: 'file_bytes=3000000; on=download; drip=20' });
  const stop = new AbortController();
  const headers = { authorization: `Bearer ${KEYS.ana}` };
  const slow = Array.from({ length: RESULT_READS.connections }, () =>
    fetch(patient.gateway.url + contentPath(id), { headers, signal: stop.signal }),
  );
  await Promise.all(slow);
  const before = clock.waiting(RESULT_READS.waitMs);
  const reading = Array.from({ length: 10 }, () => readResult(patient, contentPath(id)));
  await until('all readers to wait', () => clock.waiting(RESULT_READS.waitMs) === before + 10);
  clock.fire(RESULT_READS.waitMs);
  for (const reader of await Promise.all(reading)) {
    assert.equal(reader.status, 503);
    assert.equal(reader.headers.get('retry-after'), String(RESULT_READS.retryAfterSeconds));
    assert.equal(reader.headers.get('cache-control'), PRIVATE);
  }
  assert.equal(downloadsOf(id).length, RESULT_READS.connections);
  stop.abort();
});
