import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Account, Catalog } from '../../catalog/index.ts';
import { ApiError, createLog, systemClock } from '../../core/index.ts';
import { PublicGuard } from '../../platform/outbound/index.ts';
import type { UpstreamClient, UpstreamListener, UpstreamRequest } from '../../providers/upstream/index.ts';
import type { TaskRow } from '../tasks/task.ts';
import type { Renewals } from './renewals.ts';
import { resultOf } from './result.ts';
import { type UpstreamFile, UpstreamSource } from './upstream-source.ts';

const PUBLIC = '93.184.215.14';
const FILE = Buffer.from('\0\0\0\x18ftypisom and so on, the video', 'latin1');

interface Scripted {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: Buffer;
}

function sourceWith(response: Scripted = {}, addresses: readonly string[] = [PUBLIC]) {
  const requests: UpstreamRequest[] = [];
  const account = {
    id: 'one',
    groupId: 'ep',
    baseUrl: 'http://10.1.2.3:8000/api/v3',
    credential: 'sk-secret',
    adapter: 'ark',
    resultHosts: ['files.example-cdn.net', '*.bucket-store.net'],
  } as unknown as Account;
  const upstream = {
    send(request: UpstreamRequest, listener: UpstreamListener) {
      requests.push(request);
      const { status = 200, headers = {}, body = FILE } = response;
      queueMicrotask(() => {
        listener.onHead(status, { 'content-type': 'video/mp4', 'content-length': String(body.length), ...headers });
        if (body.length > 0) listener.onData(body);
        listener.onEnd();
      });
      return { resume() {}, abort() {} };
    },
  } as unknown as UpstreamClient;
  const source = new UpstreamSource({
    upstream,
    catalog: () => new Catalog([], [account], new Map()),
    log: createLog('silent'),
    allowedOrigins: ['http://127.0.0.1:9000'],
    guard: new PublicGuard({ clock: systemClock, resolve: async () => addresses }),
    renewals: { renew: async () => undefined } as unknown as Renewals,
  });
  const open = (url: string, range?: { first: number; last: number | undefined } | { suffix: number }) =>
    source.open(resultOf({ ...TASK, result_url: url }, 'video'), { range });
  return { requests, open };
}

const TASK = { id: 'task_1', user_id: 'ana', group_id: 'ep', account_id: 'one' } as TaskRow;
const URL_OK = 'https://files.example-cdn.net/video.mp4?signature=x';

async function bytesOf(file: UpstreamFile | { readonly unsatisfiable: number | undefined }): Promise<Buffer> {
  assert.ok('body' in file);
  const chunks: Buffer[] = [];
  for (let chunk = await file.body.next(); chunk; chunk = await file.body.next()) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test('a listed host is reached by its checked addresses only, without credentials', async () => {
  for (const url of [URL_OK, 'https://eu.bucket-store.net/a/b.mp4']) {
    const { requests, open } = sourceWith();
    assert.deepEqual(await bytesOf(await open(url)), FILE);
    const [request] = requests;
    assert.deepEqual(request?.addresses, [PUBLIC]);
    assert.equal(request.origin + request.path, url);
    assert.ok(!JSON.stringify(request.headers).includes('sk-secret'));
  }
});

test("the account's own origin and allowed origins need not be public", async () => {
  for (const url of ['http://10.1.2.3:8000/obj/1', 'http://127.0.0.1:9000/x']) {
    const { requests, open } = sourceWith();
    assert.deepEqual(await bytesOf(await open(url)), FILE);
    assert.equal(requests[0]?.addresses, undefined);
  }
});

test('no other host, scheme, port or address is reached', async () => {
  const refused = [
    'https://other.example-cdn.net/video.mp4',
    'https://bucket-store.net/video.mp4',
    'https://files.example-cdn.net.evil.net/x',
    'https://evil.net/files.example-cdn.net',
    'https://evil.net?.bucket-store.net',
    'https://evil.net#.bucket-store.net',
    'http://files.example-cdn.net/video.mp4',
    'https://files.example-cdn.net:8443/video.mp4',
    'https://user@files.example-cdn.net/video.mp4',
    'http://10.1.2.3:8001/obj/1',
    'http://169.254.169.254/latest/meta-data',
    'ftp://files.example-cdn.net/video.mp4',
    'video.mp4',
  ];
  for (const url of refused) {
    const { requests, open } = sourceWith();
    await assert.rejects(open(url), { code: 'upstream_error' }, url);
    assert.equal(requests.length, 0, url);
  }
});

test('a listed host with an address that is not public is not reached', async () => {
  for (const address of ['10.0.0.1', '127.0.0.1', '169.254.169.254', '::1', 'fd00::1']) {
    const { requests, open } = sourceWith({}, [PUBLIC, address]);
    await assert.rejects(open(URL_OK), { code: 'upstream_error' }, address);
    assert.equal(requests.length, 0, address);
  }
});

test('an upstream that ignores ranges is read up to the end of the range', async () => {
  const { open } = sourceWith();
  const part = await open(URL_OK, { first: 4, last: 7 });
  assert.deepEqual('range' in part && [part.range, part.size], [{ start: 4, end: 7 }, FILE.length]);
  assert.equal((await bytesOf(part)).toString(), 'ftyp');
  await assert.rejects(
    open(URL_OK, { first: FILE.length, last: undefined }),
    (error) =>
      error instanceof ApiError &&
      error.details.status === 416 &&
      error.details.headers?.['content-range'] === `bytes */${FILE.length}`,
  );
});

test('a part other than the one asked for is not a result', async () => {
  const body = FILE.subarray(0, 4);
  for (const contentRange of ['bytes 0-4/30', 'bytes 1-4/30', 'bytes 0-3/*', 'bytes 0-3', undefined]) {
    const { open } = sourceWith({ status: 206, headers: { 'content-range': contentRange }, body });
    await assert.rejects(open(URL_OK, { first: 0, last: 3 }), { code: 'upstream_error' }, contentRange);
  }
  const { open } = sourceWith({ status: 206, headers: { 'content-range': 'bytes 0-3/30' }, body });
  assert.deepEqual(await bytesOf(await open(URL_OK, { first: 0, last: 3 })), body);
});

test('a response without a known end, with another encoding or type, or with another status is not a result', async () => {
  const cases: Scripted[] = [
    { headers: { 'content-length': undefined } },
    { headers: { 'content-encoding': 'gzip' } },
    { headers: { 'content-type': 'text/html' } },
    { headers: { 'content-type': 'application/xml' } },
    { status: 206, headers: { 'content-range': 'bytes 0-3/30' } },
    { status: 302, headers: { location: URL_OK } },
    { status: 204, body: Buffer.alloc(0) },
    { status: 500 },
  ];
  for (const response of cases)
    await assert.rejects(sourceWith(response).open(URL_OK), { code: 'upstream_error' }, JSON.stringify(response));
});

test('V 4.6 r1: the type is that of the upstream, or detected when it names none', async () => {
  const png = Buffer.from('\x89PNG\r\n\x1a\n and so on', 'latin1');
  const cases: readonly [string | undefined, Buffer, string][] = [
    ['video/mp4', FILE, 'video/mp4'],
    ['Video/WebM; codecs=vp9', FILE, 'video/webm'],
    ['image/jpeg', FILE, 'image/jpeg'],
    [undefined, FILE, 'video/mp4'],
    ['application/octet-stream', png, 'image/png'],
    ['binary/octet-stream', Buffer.from([0x1a, 0x45, 0xdf, 0xa3, 1, 2, 3, 4]), 'video/webm'],
    [undefined, Buffer.from('something else'), 'application/octet-stream'],
  ];
  for (const [header, body, expected] of cases) {
    const file = await sourceWith({ headers: { 'content-type': header }, body }).open(URL_OK);
    assert.equal('type' in file && file.type, expected, String(header));
    assert.deepEqual(await bytesOf(file), body);
  }
});

test('V 4.6 r4: statuses of an expired address lead to 410 when no new one comes', async () => {
  for (const status of [400, 401, 403, 404, 410])
    await assert.rejects(
      sourceWith({ status }).open(URL_OK),
      (error: ApiError) => error.code === 'video_result_expired',
      String(status),
    );
});
