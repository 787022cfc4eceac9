/** Limits of video requests (V 7, V 8): rates per user and operation, the size of a body, and the memory for bodies. */
import assert from 'node:assert/strict';
import { randomFillSync } from 'node:crypto';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { BODY_BYTES, VIDEO_REQUESTS_PER_MINUTE } from '../../src/rules/index.ts';
import { longTest } from '../support/long-test.ts';
import { jsonOf, request, Wire } from '../support/raw.ts';
import { callVideo, KEYS, startVideo, TASKS, taskBody, type VideoFixture } from '../support/video.ts';
import { addUser } from '../support/video-tasks.ts';
import { until } from '../support/wait.ts';

const LIMIT = BODY_BYTES.video;
const MIB = 2 ** 20;

let fixture: VideoFixture;
before(async () => {
  fixture = await startVideo();
});
after(() => fixture.close());

const call = (path: string, key: string, method = 'GET') => callVideo(fixture.gateway.url, path, { key, method });

for (const [operation, path, method] of [
  ['tasks.list', TASKS, 'GET'],
  ['videos.list', '/v1/videos', 'GET'],
  ['tasks.delete', `${TASKS}/task_missing`, 'DELETE'],
] as const)
  test(`V 7: ${operation} gives 429 beyond the rate of the user, for all keys of the user`, async () => {
    const id = operation.replace('.', '-');
    const key = await addUser(fixture.gateway, id);
    const twin = `${key}-twin`;
    await fixture.gateway.apply({ keys: [{ user: id, group: 'openai', name: 'two', key: twin }] });
    const limit = VIDEO_REQUESTS_PER_MINUTE[method === 'GET' ? 'list' : 'delete'];
    // The bucket refills by one request per second, so a slow machine needs a few more.
    const responses = [];
    do responses.push(await call(path, responses.length % 2 === 0 ? key : twin, method));
    while (responses.at(-1)?.status !== 429 && responses.length < 2 * limit);
    const rejected = responses.pop();
    assert.ok(responses.length >= limit, `${responses.length} admitted`);
    assert.equal(responses[0]?.headers.get('x-ratelimit-limit-requests'), String(limit));
    assert.equal(responses[0]?.headers.get('x-ratelimit-remaining-requests'), String(limit - 1));
    assert.deepEqual([rejected?.status, rejected?.body.error?.code], [429, 'rate_limit_exceeded']);
    assert.ok(Number(rejected?.headers.get('retry-after')) >= 1);
    assert.equal(rejected?.headers.get('x-ratelimit-limit-requests'), String(limit));
    assert.equal(rejected?.headers.get('x-ratelimit-remaining-requests'), '0');
    assert.match(rejected?.headers.get('x-ratelimit-reset-requests') ?? '', /^\d+s$/);
    assert.notEqual((await call(path, KEYS.bob, method)).status, 429, 'another user has a rate of its own');
    assert.notEqual((await call(`${TASKS}/task_missing`, key)).status, 429, 'another operation too');
  });

const head = (more: readonly (readonly [string, string])[], key: string = KEYS.ana): string =>
  request(`POST ${TASKS} HTTP/1.1`, [
    ['authorization', `Bearer ${key}`],
    ['content-type', 'application/json'],
    ...more,
  ]);

/** Sends the parts over a new connection and returns the response. */
async function exchange(parts: Iterable<string | Buffer>) {
  const wire = new Wire(fixture.gateway.url);
  for (const part of parts) {
    if (wire.isClosed) break;
    if (!wire.socket.write(part)) await Promise.race([wire.closed(), drained(wire)]);
  }
  return wire.response().finally(() => wire.end());
}
const drained = (wire: Wire) => new Promise<void>((resolve) => wire.socket.once('drain', () => resolve()));

function assertTooLarge(response: Awaited<ReturnType<typeof exchange>>): void {
  assert.equal(response?.status, 400);
  const { error } = (response ? jsonOf(response) : {}) as { error: { code: string; message: string } };
  assert.equal(error.code, 'invalid_request');
  assert.match(error.message, new RegExp(String(LIMIT)));
}

test('V 8: an announced body over 64 MB gives 400 before any of it is sent', async () => {
  assertTooLarge(await exchange([head([['content-length', String(LIMIT + 1)]])]));
});

test('V 8: a chunked body over 64 MB gives 400 while it is read', async () => {
  const megabyte = Buffer.alloc(MIB, ' ');
  function* chunks() {
    yield head([['transfer-encoding', 'chunked']]);
    for (let n = 0; n < 66; n += 1) {
      yield `${MIB.toString(16)}\r\n`;
      yield megabyte;
      yield '\r\n';
    }
  }
  assertTooLarge(await exchange(chunks()));
});

const sendCompressed = (body: Buffer): ReturnType<typeof exchange> => {
  const bytes = gzipSync(body, { level: 1 });
  const fields = [
    ['content-encoding', 'gzip'],
    ['content-length', String(bytes.length)],
  ] as const;
  return exchange([head(fields), bytes]);
};

longTest('V 8: a compressed body over 64 MB after decoding gives 400', async () => {
  const body = Buffer.alloc(LIMIT + 1, ' ');
  // Not more than the ratio of compression allows.
  for (let at = 0; at + 2_048 < body.length; at += 65_536) randomFillSync(body, at, 2_048);
  assertTooLarge(await sendCompressed(body));
});

test('V 8: a compressed body that expands too far gives 400, long before 64 MB', async () => {
  const response = await sendCompressed(Buffer.alloc(LIMIT + 1, ' '));
  assert.equal(response?.status, 400);
  assert.match(JSON.stringify(response && jsonOf(response)), /content-encoding: the body expands/);
});

test('V 8: a compressed body is read', async () => {
  const bytes = gzipSync(JSON.stringify(taskBody('EP')));
  const response = await fetch(`${fixture.gateway.url}${TASKS}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${KEYS.ana}`,
      'content-type': 'application/json',
      'content-encoding': 'gzip',
    },
    body: bytes,
  });
  assert.equal(response.status, 200, await response.text());
});

test('V 8: clients that announce large bodies and send nothing do not block others', async () => {
  const wires = Array.from({ length: 20 }, () => new Wire(fixture.gateway.url));
  for (const wire of wires) wire.send(head([['content-length', String(LIMIT)]]));
  try {
    const { status, body } = await callVideo(fixture.gateway.url, TASKS, { body: taskBody('EP') });
    assert.equal(status, 200, JSON.stringify(body));
  } finally {
    for (const wire of wires) wire.end();
  }
});

/** Bytes of bodies that the gateway keeps in memory. */
async function keptBytes(): Promise<number> {
  const metrics = await (await fetch(`${fixture.gateway.url}/metrics`)).text();
  return Number(/^dragoman_large_body_bytes (\d+)/m.exec(metrics)?.[1] ?? assert.fail(metrics));
}

longTest(
  'V 8: many large bodies at once give 503 server_is_overloaded, and their memory is freed with their clients',
  async () => {
    const uploaders = await Promise.all(Array.from({ length: 6 }, (_, n) => addUser(fixture.gateway, `uploader-${n}`)));
    const [key = ''] = uploaders;
    const wires: Wire[] = [];
    const megabyte = Buffer.alloc(MIB, ' ');
    /** Sends all but the last byte, so that the body stays in memory. */
    const upload = async (uploader = '') => {
      const wire = new Wire(fixture.gateway.url);
      wires.push(wire);
      wire.send(head([['content-length', String(LIMIT)]], uploader));
      for (let n = 0; n < 64 && !wire.isClosed; n += 1)
        if (!wire.socket.write(n < 63 ? megabyte : megabyte.subarray(1)))
          await Promise.race([wire.closed(), drained(wire)]);
      return wire;
    };
    try {
      // One key may fill three quarters of the memory; the others still get a body each.
      for (let n = 0; n < 6; n += 1) await upload(key);
      await until('six bodies', async () => (await keptBytes()) === 6 * (LIMIT - 1));
      const own = await (await upload(key)).response();
      assert.equal(own?.status, 429);
      assert.equal((jsonOf(own) as { error: { code: string } }).error.code, 'rate_limit_exceeded');
      for (const other of uploaders.slice(1, 3)) await upload(other);
      await until('eight bodies', async () => (await keptBytes()) === 8 * (LIMIT - 1));
      const response = await (await upload(uploaders[5])).response();
      assert.equal(response?.status, 503);
      assert.equal((jsonOf(response) as { error: { code: string } }).error.code, 'server_is_overloaded');
      assert.ok(Number(response.headers.get('retry-after')) >= 1);
      assert.equal(await keptBytes(), 8 * (LIMIT - 1), 'the rejected body gave its part back');
      wires[0]?.end();
      await until('the memory of one body', async () => (await keptBytes()) === 7 * (LIMIT - 1));
      const { status } = await callVideo(fixture.gateway.url, TASKS, { body: taskBody('EP'), key });
      assert.equal(status, 200, 'there is room again');
    } finally {
      for (const wire of wires) wire.end();
    }
    await until('all memory', async () => (await keptBytes()) === 0);
  },
);
