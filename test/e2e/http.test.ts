/** The HTTP server byte by byte: malformed requests, routing errors, connections, drain and health endpoints. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { connect } from '../../src/platform/db/index.ts';
import { version } from '../../src/platform/version.ts';
import type { ErrorFormat } from '../../src/rules/index.ts';
import { testDatabase } from '../support/database.ts';
import { errorCode } from '../support/error-body.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { longTest } from '../support/long-test.ts';
import { jsonOf, type RawResponse, request, sendRaw, Wire } from '../support/raw.ts';
import { until } from '../support/wait.ts';

let gateway: TestGateway;
let key: string;

before(async () => {
  gateway = await startGateway();
  key = (await gateway.apply(basicSetup())).openai ?? '';
});
after(() => gateway.stop());

const HEALTH = request('GET /healthz HTTP/1.1');

async function exchange(bytes: string | Buffer, head = false): Promise<RawResponse> {
  const response = await sendRaw(gateway.url, bytes, head);
  assert.ok(response, 'a response came before the connection closed');
  assert.match(response.headers.get('x-request-id') ?? '', /^req_[0-9A-Za-z]+$/, 'it has a request id');
  return response;
}

/** Asserts that the server closes the connection after this response and ignores bytes sent behind the request. */
async function assertClosesAfter(bytes: string | Buffer, status: number): Promise<RawResponse> {
  const wire = new Wire(gateway.url);
  wire.send(bytes);
  const response = await wire.response();
  assert.equal(response?.status, status);
  assert.match(response.headers.get('x-request-id') ?? '', /^req_/);
  assert.equal(response.headers.get('connection'), 'close');
  wire.send(HEALTH);
  assert.equal(await wire.response(), undefined, 'no further response');
  await wire.closed();
  return response;
}

const CHUNKED = [['transfer-encoding', 'chunked']] as const;

for (const [about, bytes] of [
  [
    'two Host headers',
    request('GET /healthz HTTP/1.1', [
      ['Host', 'a'],
      ['host', 'b'],
    ]),
  ],
  [
    'the same Host header twice',
    request('GET /healthz HTTP/1.1', [
      ['Host', 'a'],
      ['Host', 'a'],
    ]),
  ],
  ['no Host header', 'GET /healthz HTTP/1.1\r\n\r\n'],
  ['user information in an absolute target', request('GET http://user@gateway.test/healthz HTTP/1.1')],
  ['an absolute target without a host', request('GET http:///healthz HTTP/1.1')],
  ['an absolute target of another scheme', request('GET ftp://gateway.test/healthz HTTP/1.1')],
  ['an absolute target without a Host header', 'GET http://gateway.test/healthz HTTP/1.1\r\n\r\n'],
  ['an asterisk as target of GET', request('GET * HTTP/1.1')],
  ['a zero byte in the path', request('GET /v1/responses/%00 HTTP/1.1')],
  ['a target without a leading slash', request('GET healthz HTTP/1.1')],
  ['HTTP/1.0 with a chunked body', request('POST /v1/messages HTTP/1.0', CHUNKED, '0\r\n\r\n')],
  [
    'content-length before transfer-encoding',
    request('POST /v1/messages HTTP/1.1', [['content-length', '5'], ...CHUNKED], '0\r\n\r\n'),
  ],
  [
    'content-length after transfer-encoding',
    request('POST /v1/messages HTTP/1.1', [...CHUNKED, ['content-length', '5']], '0\r\n\r\n'),
  ],
  [
    'two different content-length headers',
    request(
      'POST /v1/messages HTTP/1.1',
      [
        ['content-length', '1'],
        ['content-length', '2'],
      ],
      'ab',
    ),
  ],
  ['a list as content-length', request('POST /v1/messages HTTP/1.1', [['content-length', '1, 1']], 'a')],
  ['a negative content-length', request('POST /v1/messages HTTP/1.1', [['content-length', '-1']])],
  ['a hexadecimal content-length', request('POST /v1/messages HTTP/1.1', [['content-length', '0x2']], 'ab')],
  ['a content-length with a plus sign', request('POST /v1/messages HTTP/1.1', [['content-length', '+2']], 'ab')],
  [
    'a second transfer coding',
    request('POST /v1/messages HTTP/1.1', [['transfer-encoding', 'gzip, chunked']], '0\r\n\r\n'),
  ],
  ['a transfer coding other than chunked', request('POST /v1/messages HTTP/1.1', [['transfer-encoding', 'identity']])],
  ['chunked twice', request('POST /v1/messages HTTP/1.1', [...CHUNKED, ...CHUNKED], '0\r\n\r\n')],
  [
    'a control character before chunked',
    request('POST /v1/messages HTTP/1.1', [['transfer-encoding', '\x0bchunked']], '0\r\n\r\n'),
  ],
  [
    'an unknown transfer coding',
    request('POST /v1/messages HTTP/1.1', [['transfer-encoding', 'xchunked']], '0\r\n\r\n'),
  ],
  ['a space before the colon', 'GET /healthz HTTP/1.1\r\nhost : a\r\n\r\n'],
  ['an obsolete folded header', 'GET /healthz HTTP/1.1\r\nhost: a\r\nx-one: b\r\n c\r\n\r\n'],
  ['a header without a name', 'GET /healthz HTTP/1.1\r\nhost: a\r\n: b\r\n\r\n'],
  ['lines that end in a bare line feed', 'GET /healthz HTTP/1.1\nhost: a\n\n'],
  ['a bare carriage return in a value', 'GET /healthz HTTP/1.1\r\nhost: a\r\nx-one: b\rc\r\n\r\n'],
  ['a zero byte in a value', 'GET /healthz HTTP/1.1\r\nhost: a\r\nx-one: b\0c\r\n\r\n'],
  ['an unknown method', request('BREW /healthz HTTP/1.1')],
  ['an unknown version', request('GET /healthz HTTP/3.7')],
  ['a TLS handshake', Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03])],
  ['text without an HTTP request line', 'hello?\r\n\r\n'],
  ['an invalid chunk size', `${request('POST /v1/messages HTTP/1.1', CHUNKED)}zz\r\n`],
] as const) {
  test(`HTTP server returns 400 and closes the connection: ${about}`, async () => {
    const response = await assertClosesAfter(bytes, 400);
    const { error } = jsonOf(response) as { error: { message: string } };
    assert.ok(error.message.length > 10);
  });
}

test('HTTP server routes a target in absolute form by its path', async () => {
  for (const [target, status] of [
    ['http://gateway.test/healthz', 200],
    ['HTTPS://gateway.test:8443/healthz?a=b', 200],
    ['http://[2001:db8::1]:80/healthz', 200],
    ['http://gateway.test/nothing', 404],
    ['http://gateway.test', 404],
    ['http://gateway.test?a=/healthz', 404],
  ] as const)
    assert.equal((await exchange(request(`GET ${target} HTTP/1.1`))).status, status, target);
  const models = request('GET http://gateway.test/v1/models HTTP/1.1', [['authorization', `Bearer ${key}`]]);
  assert.deepEqual(Object.keys(jsonOf(await exchange(models)) as object).includes('data'), true);
});

test('G 1 r6, V 1 r8: the API is the same at every address that leads to the server', async () => {
  for (const path of ['/v1/models', '/api/v3/contents/generations/tasks']) {
    const bodies = [];
    for (const host of ['gateway.test', 'api.other.example:8443']) {
      const headers = `host: ${host}\r\nauthorization: Bearer ${key}\r\nconnection: close`;
      const response = await exchange(`GET ${path} HTTP/1.1\r\n${headers}\r\n\r\n`);
      assert.equal(response.status, 200, path);
      bodies.push(jsonOf(response));
    }
    assert.deepEqual(bodies[0], bodies[1]);
  }
});

test('HTTP server returns 204 for OPTIONS *, and keeps the connection', async () => {
  const wire = new Wire(gateway.url);
  for (let n = 0; n < 2; n += 1) {
    wire.send(request('OPTIONS * HTTP/1.1'));
    const response = await wire.response();
    assert.equal(response?.status, 204);
    assert.match(response.headers.get('x-request-id') ?? '', /^req_/);
  }
  wire.end();
});

test('HTTP server returns 431 when the headers are too large or too many', async () => {
  for (const headers of [
    [['x-big', 'x'.repeat(40_000)]],
    Array.from({ length: 900 }, (_, n) => [`x-${n}`, 'y'.repeat(40)]),
    Array.from({ length: 100 }, () => ['x', 'y']),
  ] as [string, string][][]) {
    const response = await assertClosesAfter(request('GET /healthz HTTP/1.1', headers), 431);
    assert.equal(errorCode('openai', 431, jsonOf(response)), 'headers_too_large');
  }
  assert.equal((await exchange(request(`GET /${'x'.repeat(40_000)} HTTP/1.1`))).status, 431);
  assert.equal((await exchange(request('GET /healthz HTTP/1.1', [['x-big', 'x'.repeat(20_000)]]))).status, 200);
  const many = Array.from({ length: 99 }, () => ['x', 'y'] as const);
  assert.equal((await exchange(request('GET /healthz HTTP/1.1', many))).status, 200);
});

test('HTTP server returns 400 in the error format of the path when a path cannot be decoded', async () => {
  const paths: [string, ErrorFormat][] = [
    ['/v1/models/%', 'openai'],
    ['/v1/models/%zz', 'openai'],
    ['/v1/models/%ff%fe', 'openai'],
    ['/v1beta/models/%E0%A4%A', 'generate'],
    ['/v1beta/models/%c0%ae:generateContent', 'generate'],
    ['/v1/videos/%u0041', 'video'],
  ];
  for (const [path, format] of paths) {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const response = await exchange(request(`${method} ${path} HTTP/1.1`, [['content-length', '0']]));
      assert.ok([400, 405].includes(response.status), `${method} ${path}: ${response.status}`);
      errorCode(format, response.status, jsonOf(response));
    }
  }
});

test('unknown paths are 404 in the error format of the path prefix', async () => {
  const paths: [string, ErrorFormat][] = [
    ['/v1/messages/nowhere', 'messages'],
    ['/v1beta/nowhere', 'generate'],
    ['/api/v3/nowhere', 'video'],
    ['/v1/videos/a/b/c', 'video'],
    ['/v1/asset-groups/a/b', 'video'],
    ['/v1/nowhere', 'openai'],
    ['/nowhere', 'openai'],
    ['/', 'openai'],
    ['//healthz', 'openai'],
    ['/healthz/', 'openai'],
    ['/HEALTHZ', 'openai'],
    ['/v1/../healthz', 'openai'],
    ['/v1/models?', 'openai'],
  ];
  for (const [path, format] of paths.slice(0, -1)) {
    const response = await exchange(request(`GET ${path} HTTP/1.1`));
    assert.equal(response.status, 404, path);
    assert.equal(errorCode(format, 404, jsonOf(response)), 'not_found', path);
  }
  assert.equal(
    (await exchange(request('GET /v1/models? HTTP/1.1'))).status,
    401,
    'an empty query does not change the path',
  );
});

test('a wrong method is 405 with an Allow header', async () => {
  for (const [line, allow, format] of [
    ['GET /v1/messages', 'POST', 'messages'],
    ['PUT /v1/responses/resp_1', 'GET, DELETE', 'openai'],
    ['DELETE /v1/responses', 'POST, GET', 'openai'],
    ['PATCH /v1beta/models', 'GET, HEAD', 'generate'],
    ['POST /healthz', 'GET, HEAD', 'openai'],
    ['OPTIONS /v1/videos', 'POST, GET, HEAD', 'video'],
    ['PROPFIND /v1/videos', 'POST, GET, HEAD', 'video'],
    ['TRACE /v1/models', 'GET, HEAD', 'openai'],
  ] as const) {
    const response = await exchange(request(`${line} HTTP/1.1`, [['content-length', '0']]));
    assert.equal(response.status, 405, line);
    assert.equal(errorCode(format, 405, jsonOf(response)), 'method_not_allowed');
    assert.deepEqual(new Set(response.headers.get('allow')?.split(', ')), new Set(allow.split(', ')), line);
  }
});

test('HEAD responses have no body, and the connection stays usable', async () => {
  const wire = new Wire(gateway.url);
  for (const [path, status] of [
    ['/healthz', 200],
    ['/readyz', 200],
    ['/v1/messages', 405],
    ['/nowhere', 404],
    ['/v1/models/%zz', 405],
  ] as const) {
    wire.send(request(`HEAD ${path} HTTP/1.1`));
    const response = await wire.response({ head: true });
    assert.ok(response);
    assert.ok([status, 400].includes(response.status), `${path}: ${response.status}`);
    if (status === 200) {
      const whole = await exchange(request(`GET ${path} HTTP/1.1`));
      assert.equal(
        response.headers.get('content-length'),
        whole.headers.get('content-length'),
        'the content-length of GET',
      );
    }
  }
  wire.send(HEALTH);
  assert.equal((await wire.response())?.status, 200);
  wire.end();
});

test('Expect: 100-continue is accepted, and an unknown expectation is 417', async () => {
  const unknown = await exchange(
    request('POST /v1/messages HTTP/1.1', [
      ['expect', 'miracles'],
      ['content-length', '0'],
    ]),
  );
  assert.equal(unknown.status, 417);
  errorCode('messages', 417, jsonOf(unknown));
  const known = await exchange(request('GET /healthz HTTP/1.1', [['expect', '100-continue']]));
  assert.equal(known.status, 200);
});

test('an h2c upgrade offer is ignored and HTTP/1.1 is used', async () => {
  const offer = [
    ['connection', 'Upgrade, HTTP2-Settings'],
    ['upgrade', 'h2c'],
    ['http2-settings', 'AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA'],
  ] as const;
  const wire = new Wire(gateway.url);
  wire.send(request('GET /healthz HTTP/1.1', offer));
  assert.equal((await wire.response())?.status, 200);
  wire.send(request('POST /v1/messages HTTP/1.1', [...offer, ['content-length', '2']], '{}'));
  assert.equal((await wire.response())?.status, 401);
  wire.send(HEALTH);
  assert.equal((await wire.response())?.status, 200, 'the connection stays usable');
  wire.end();
});

const handshake = () =>
  [
    ['authorization', `Bearer ${key}`],
    ['connection', 'Upgrade'],
    ['upgrade', 'websocket'],
    ['sec-websocket-version', '13'],
  ] as const;
const NONCE = ['sec-websocket-key', 'dGhlIHNhbXBsZSBub25jZQ=='] as const;

test('WebSocket: a frame in the same packet as the handshake is read', async () => {
  const frame = Buffer.concat([Buffer.from([0x81, 0x80 | 8, 0, 0, 0, 0]), Buffer.from('not JSON')]);
  for (let n = 0; n < 2; n += 1) {
    const { socket } = new Wire(gateway.url);
    let received = '';
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1');
    });
    socket.write(Buffer.concat([Buffer.from(request('GET /v1/responses HTTP/1.1', [...handshake(), NONCE])), frame]));
    await until('a response to the frame', () => received.includes('invalid_json'));
    assert.match(received, /^HTTP\/1\.1 101 /);
    socket.destroy();
  }
});

test('WebSocket: an invalid handshake is 400', async () => {
  for (const bytes of [
    request('GET /v1/responses HTTP/1.1', handshake()),
    request('POST /v1/responses HTTP/1.1', [...handshake(), NONCE, ['content-length', '2']], '{}'),
  ]) {
    const response = await assertClosesAfter(bytes, 400);
    assert.equal(errorCode('openai', 400, jsonOf(response)), 'invalid_request');
  }
});

test('pipelined requests get their responses in order', async () => {
  const wire = new Wire(gateway.url);
  const lines = ['/healthz', '/nowhere', '/v1/models', '/openapi.json', '/v1beta/models', '/healthz'];
  wire.send(lines.map((path) => request(`GET ${path} HTTP/1.1`)).join(''));
  const statuses: (number | undefined)[] = [];
  for (const _ of lines) statuses.push((await wire.response())?.status);
  assert.deepEqual(statuses, [200, 404, 401, 200, 401, 200]);
  wire.end();
});

test('keep-alive: the connection stays open after an error response to a well-formed request', async () => {
  const wire = new Wire(gateway.url);
  for (const [bytes, status] of [
    [request('GET /nowhere HTTP/1.1'), 404],
    [request('GET /v1/models HTTP/1.1', [['authorization', 'Bearer nonsense']]), 401],
    [
      request(
        'POST /v1/messages HTTP/1.1',
        [
          ['content-length', '2'],
          ['content-type', 'application/json'],
        ],
        '{}',
      ),
      401,
    ],
    [request('PUT /v1/messages HTTP/1.1', [['content-length', '2']], '{}'), 405],
    [
      request(
        'POST /v1/messages HTTP/1.1',
        [
          ['content-length', '2'],
          ['content-type', ';;;'],
        ],
        '{}',
      ),
      400,
    ],
    [HEALTH, 200],
  ] as const) {
    wire.send(bytes);
    const response = await wire.response();
    assert.ok(response);
    if (response.headers.get('connection') === 'close') return assert.fail(`closed after ${status}`);
    assert.ok([status, 401].includes(response.status), `${status} expected, got ${response.status}`);
  }
  wire.end();
});

test('HTTP/1.0 gets a response and the connection is closed', async () => {
  const wire = new Wire(gateway.url);
  wire.send('GET /healthz HTTP/1.0\r\n\r\n');
  assert.equal((await wire.response())?.status, 200);
  await wire.closed();
});

const UPLOAD = 64 * 2 ** 20;
for (const [about, headers] of [
  ['declared', [['content-length', String(UPLOAD)]]],
  ['chunked', [['transfer-encoding', 'chunked']]],
] as const) {
  test(`an unauthenticated upload of 64 MiB (${about}) is rejected and cut early`, async () => {
    const wire = new Wire(gateway.url);
    wire.send(request('POST /v1/messages HTTP/1.1', headers));
    const block = Buffer.alloc(64 * 1024, 0x20);
    const piece = about === 'chunked' ? Buffer.concat([Buffer.from('10000\r\n'), block, Buffer.from('\r\n')]) : block;
    let sent = 0;
    while (!wire.isClosed && sent < UPLOAD) {
      sent += piece.length;
      if (!wire.socket.write(piece)) await Promise.race([once(wire.socket, 'drain'), wire.closed()]).catch(() => {});
    }
    await wire.closed();
    // Kernel buffers on both sides hold a few MB.
    assert.ok(sent < 24 * 2 ** 20, `${sent} bytes were accepted`);
  });
}

test('a client gets the error response before it sends its body, and is disconnected when it stalls', async () => {
  const large = await assertClosesAfter(request('POST /v1/messages HTTP/1.1', [['content-length', '100000']]), 401);
  assert.equal(errorCode('messages', 401, jsonOf(large)), 'invalid_api_key');
  const wire = new Wire(gateway.url);
  wire.send(request('POST /v1/messages HTTP/1.1', [['content-length', '1000']], 'only the beginning'));
  assert.equal((await wire.response())?.status, 401);
  await wire.closed();
});

test('G 7 r3: every response has a unique x-request-id', async () => {
  const paths = [
    '/healthz',
    '/readyz',
    '/metrics',
    '/openapi.json',
    '/nowhere',
    '/v1/models',
    '/v1/messages',
    '/v1/models/%zz',
  ];
  const ids: (string | undefined)[] = [];
  for (const path of paths) ids.push((await exchange(request(`GET ${path} HTTP/1.1`))).headers.get('x-request-id'));
  assert.equal(new Set(ids).size, paths.length);
  const messages = await exchange(request('POST /v1/messages HTTP/1.1', [['content-length', '0']]));
  const id = messages.headers.get('x-request-id');
  assert.equal(messages.headers.get('request-id'), id, 'the header of the messages dialect');
  assert.equal((jsonOf(messages) as { request_id: string }).request_id, id);
});

test('health, readiness, metrics and OpenAPI endpoints respond', async () => {
  assert.deepEqual(jsonOf(await exchange(HEALTH)), { status: 'alive', version });
  assert.deepEqual(jsonOf(await exchange(request('GET /readyz HTTP/1.1'))), { status: 'ready' });
  const metrics = await exchange(request('GET /metrics HTTP/1.1'));
  assert.match(metrics.headers.get('content-type') ?? '', /^text\/plain/);
  assert.match(metrics.text, /dragoman_request_duration_seconds_bucket\{[^}]*operation="operator\.alive"[^}]*\} \d/);
  assert.match(metrics.text, /^dragoman_open_requests \d+/m);
  const openapi = jsonOf(await exchange(request('GET /openapi.json HTTP/1.1'))) as { openapi: string; paths: object };
  assert.equal(openapi.openapi, '3.1.0');
  assert.ok('/v1/messages' in openapi.paths && '/v1beta/models/{model}:generateContent' in openapi.paths);
});

test('each request writes one log line without query, key or body', async () => {
  const secret = 'sk-credential-of-another-service';
  const cases = [
    request(`GET /v1beta/models?key=${key}&prompt=whisper HTTP/1.1`),
    request(`GET /v1/models?key=${key} HTTP/1.1`),
    request('GET /v1/models HTTP/1.1', [
      ['authorization', `Bearer ${key}`],
      ['x-api-key', secret],
    ]),
    request(`GET /nowhere/${key}?x=whisper HTTP/1.1`),
    request(
      'POST /v1/chat/completions HTTP/1.1',
      [
        ['authorization', `Bearer ${secret}`],
        ['content-length', '13'],
      ],
      '{"a":whisper}',
    ),
    request(`GET http://whisper.test/ HTTP/1.1`, [['authorization', `Bearer ${key}`]]),
  ];
  for (const bytes of cases) {
    const { headers, status } = await exchange(bytes);
    const linesOf = () => gateway.log.filter(({ request: id }) => id === headers.get('x-request-id'));
    await until('the log line', () => linesOf().some(({ msg }) => msg === 'request.completed'));
    const lines = linesOf().filter(({ msg }) => msg === 'request.completed');
    assert.equal(lines.length, 1);
    assert.equal(lines[0]?.status, status);
    assert.equal(typeof lines[0]?.ms, 'number');
  }
  const log = gateway.log.map((line) => JSON.stringify(line)).join('\n');
  for (const text of [key, secret, 'whisper', '?key', 'Bearer'])
    assert.ok(!log.includes(text), `the log holds ${text.slice(0, 8)}`);
});

test('a client disconnect in the middle of a request body is not an internal error', async () => {
  const before = gateway.log.length;
  const news = (event: string) => gateway.log.slice(before).filter(({ msg }) => msg === event);
  for (const disconnect of [(wire: Wire) => wire.socket.resetAndDestroy(), (wire: Wire) => wire.socket.end()]) {
    const wire = new Wire(gateway.url);
    const headers = [
      ['authorization', `Bearer ${key}`],
      ['content-length', '100'],
    ] as const;
    wire.send(request('POST /v1/responses HTTP/1.1', headers, '{"model":'));
    await until('the request to be open', async () => {
      const metrics = await fetch(`${gateway.url}/metrics`).then((response) => response.text());
      return Number(/^dragoman_open_requests (\d+)/m.exec(metrics)?.[1]) >= 2;
    });
    const done = news('request.completed').filter(({ op }) => op === 'responses.create').length;
    disconnect(wire);
    await until(
      'its log line',
      () => news('request.completed').filter(({ op }) => op === 'responses.create').length > done,
    );
  }
  assert.deepEqual(news('request.internal_error'), []);
});

/** Runs `task` with a gateway on which requests with a key wait for `release`, because the key table is locked. */
async function withWaitingCalls(
  env: Record<string, string>,
  task: (held: {
    own: TestGateway;
    key: string;
    call: string;
    isWaiting(calls: number): Promise<boolean>;
    release(): Promise<unknown>;
  }) => Promise<void>,
): Promise<void> {
  const database = await testDatabase();
  const own = await startGateway({ database, env });
  const { openai = '' } = await own.apply(basicSetup());
  const locker = await connect(database.url);
  await locker.query('begin; lock table keys in access exclusive mode');
  const release = () => locker.query('rollback');
  const isWaiting = async (calls: number): Promise<boolean> => {
    // Within a transaction PostgreSQL shows the activity of the first query otherwise.
    await locker.query('select pg_stat_clear_snapshot()');
    const { rows } = await locker.query(
      "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
    );
    return rows.length >= calls;
  };
  const call = request('GET /v1/models HTTP/1.1', [['authorization', `Bearer ${openai}`]]);
  try {
    await task({ own, key: openai, call, isWaiting, release });
  } finally {
    await release();
    await locker.end();
    await own.stop();
    await database.drop();
  }
}

test('a client disconnect is logged as client_closed', () =>
  withWaitingCalls({}, async ({ own, call, isWaiting }) => {
    const wire = new Wire(own.url);
    wire.send(call);
    await until('the call to wait for the table', () => isWaiting(1));
    wire.end();
    const line = await until('the log line', () => own.log.find(({ msg }) => msg === 'request.completed'));
    assert.equal(line.outcome, 'client_closed');
  }));

test('a large body received before it is read leaves the connection usable', () =>
  withWaitingCalls({}, async ({ own, key: held, isWaiting, release }) => {
    const wire = new Wire(own.url);
    const headers = [['authorization', `Bearer ${held}`] as const, ['content-length', '100000'] as const];
    wire.send(request('POST /v1/responses HTTP/1.1', headers, `{"model":"${'x'.repeat(99_988)}"}`));
    await until('the call to wait for the table', () => isWaiting(1));
    await until('the body to be sent', () => wire.socket.writableLength === 0);
    await release();
    assert.ok([400, 404].includes((await wire.response())?.status ?? 0));
    wire.send(HEALTH);
    assert.equal((await wire.response())?.status, 200);
    wire.end();
  }));

test('drain: open requests complete, new ones are rejected, and readiness reports the shutdown', () =>
  withWaitingCalls({ DRAIN_MS: '600000' }, async ({ own, call, isWaiting, release }) => {
    const [first, second, idle] = [new Wire(own.url), new Wire(own.url), new Wire(own.url)];
    idle.send(HEALTH);
    assert.equal((await idle.response())?.status, 200);
    first.send(call);
    await until('the call to wait for the table', () => isWaiting(1));
    // The key is looked up once; the second request waits for the query of the first.
    second.send(call);
    await until('three open requests, this one included', async () => {
      idle.send(request('GET /metrics HTTP/1.1'));
      return Number(/^dragoman_open_requests (\d+)/m.exec((await idle.response())?.text ?? '')?.[1]) === 3;
    });
    const stopping = own.stop();
    await idle.closed();
    first.send(request('GET /readyz HTTP/1.1'));
    second.send(request('POST /v1/messages HTTP/1.1', [['content-length', '0']]));
    const late = new Wire(own.url);
    late.send(HEALTH);
    assert.equal(await late.response(), undefined, 'no new connection is accepted');
    await release();
    for (const wire of [first, second]) {
      const finished = await wire.response();
      assert.ok(
        finished && ![401, 500, 503].includes(finished.status),
        `the open request was completed: ${finished?.status}`,
      );
    }
    const ready = await first.response();
    assert.equal(ready?.status, 503);
    assert.deepEqual(jsonOf(ready), { status: 'not ready', reason: 'shutting down' });
    const rejected = await second.response();
    assert.equal(rejected?.status, 529);
    assert.equal(errorCode('messages', 529, jsonOf(rejected)), 'shutting_down');
    assert.ok(rejected.headers.get('retry-after'));
    await Promise.all([first.closed(), second.closed(), stopping]);
  }));

test('drain: requests still open after DRAIN_MS get 503', () =>
  withWaitingCalls({ DRAIN_MS: '100' }, async ({ own, call, isWaiting, release }) => {
    const open = new Wire(own.url);
    open.send(call);
    await until('the call to wait for the table', () => isWaiting(1));
    const stopping = own.stop();
    const response = await open.response();
    assert.equal(response?.status, 503);
    assert.equal(errorCode('openai', 503, jsonOf(response)), 'shutting_down');
    assert.ok(response.headers.get('retry-after'));
    assert.equal(response.headers.get('connection'), 'close');
    await open.closed();
    await release();
    await stopping;
  }));

test('drain: a change that is open after DRAIN_MS gets 503 and must not be repeated blindly', () => {
  const ADMIN_TOKEN = 'token-of-the-operator';
  return withWaitingCalls({ DRAIN_MS: '100', ADMIN_TOKEN }, async ({ own, isWaiting, release }) => {
    const open = new Wire(own.url);
    const body = JSON.stringify({ user: 'ana', group: 'openai', name: 'late' });
    open.send(
      request(
        'POST /admin/v1/keys HTTP/1.1',
        [
          ['authorization', `Bearer ${ADMIN_TOKEN}`],
          ['content-type', 'application/json'],
          ['content-length', String(body.length)],
        ],
        body,
      ),
    );
    await until('the call to wait for the table', () => isWaiting(1));
    const stopping = own.stop();
    const response = await open.response();
    assert.equal(response?.status, 503);
    assert.equal(response.headers.get('x-should-retry'), 'false');
    assert.match(response.text, /outcome of this request is unknown/);
    await release();
    await stopping;
  });
});

test('the log line of an unknown path has method, path and address, but no query and no key', async () => {
  const secret = `dg-${'a1'.repeat(20)}`;
  const path = `/v1/chat/completion/${secret}/${'x'.repeat(30)}/${'/y'.repeat(200)}`;
  await exchange(request(`POST ${path}?key=${secret} HTTP/1.1`, [['content-length', '0']]));
  const line = await until('the log line', () =>
    gateway.log.find(({ msg, path: logged }) => msg === 'request.completed' && String(logged).includes('/completion/')),
  );
  assert.deepEqual([line.method, line.address, line.status, line.code], ['POST', '127.0.0.1', 404, 'not_found']);
  assert.match(String(line.path), /^\/v1\/chat\/completion\/\[redacted\]\/x{30}\/(?:\/y)+\/?$/);
  assert.ok(String(line.path).length <= 120);
  assert.ok(!JSON.stringify(line).includes(secret));
});

test('readiness is 503 and liveness 200 without the database', async () => {
  const own = await startGateway();
  try {
    await own.database.drop();
    const ready = await fetch(`${own.url}/readyz`);
    assert.equal(ready.status, 503);
    const { status, reason } = (await ready.json()) as { status: string; reason: string };
    assert.equal(status, 'not ready');
    assert.match(reason, /database/);
    assert.equal((await fetch(`${own.url}/healthz`)).status, 200);
  } finally {
    await own.stop();
  }
});

longTest('MAX_CONNECTIONS_PER_ADDRESS refuses further connections with 503, and the metrics count them', async () => {
  const limited = await startGateway({ env: { MAX_CONNECTIONS_PER_ADDRESS: '2', METRICS_PORT: '0' } });
  const held = [new Wire(limited.url), new Wire(limited.url)];
  try {
    for (const wire of held) {
      wire.send(HEALTH);
      assert.equal((await wire.response())?.status, 200);
    }
    const refused = await sendRaw(limited.url, HEALTH);
    assert.equal(refused?.status, 503);
    assert.equal(refused.headers.get('connection'), 'close');
    assert.equal(refused.headers.get('retry-after'), '1');
    assert.match(refused.headers.get('x-request-id') ?? '', /^req_/);
    assert.equal(errorCode('openai', 503, jsonOf(refused)), 'server_is_overloaded');
    const port = limited.log.find(({ msg }) => msg === 'metrics.ready')?.port;
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    assert.match(metrics, /^dragoman_open_connections 2$/m);
    assert.match(metrics, /^dragoman_connections_refused_total 1$/m);
    await until('the log line', () => limited.log.find(({ msg }) => msg === 'connections.refused'));
    for (const wire of held) wire.end();
    await until('a free connection', async () => (await sendRaw(limited.url, HEALTH))?.status === 200);
  } finally {
    for (const wire of held) wire.end();
    await limited.stop();
  }
});
