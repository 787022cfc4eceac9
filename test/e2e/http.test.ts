import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { connect } from '../../src/db/index.ts';
import type { ErrorFormat } from '../../src/rules/index.ts';
import { testDatabase } from '../support/database.ts';
import { codeIn } from '../support/envelope.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { jsonOf, type RawAnswer, request, sendRaw, Wire } from '../support/raw.ts';
import { until } from '../support/wait.ts';

let gateway: TestGateway;
let key: string;

before(async () => {
  gateway = await startGateway();
  key = (await gateway.apply(basicSetup())).openai ?? '';
});
after(() => gateway.stop());

const HEALTH = request('GET /healthz HTTP/1.1');

async function answerTo(bytes: string | Buffer, head = false): Promise<RawAnswer> {
  const answer = await sendRaw(gateway.url, bytes, head);
  assert.ok(answer, 'an answer came before the connection closed');
  assert.match(answer.headers.get('x-request-id') ?? '', /^req_[0-9A-Za-z]+$/, 'it carries a request id');
  return answer;
}

/** The server closes after this answer, and whatever was smuggled behind it is not answered. */
async function assertClosesAfter(bytes: string | Buffer, status: number): Promise<RawAnswer> {
  const wire = new Wire(gateway.url);
  wire.send(bytes);
  const answer = await wire.answer();
  assert.equal(answer?.status, status);
  assert.match(answer.headers.get('x-request-id') ?? '', /^req_/);
  assert.equal(answer.headers.get('connection'), 'close');
  wire.send(HEALTH);
  assert.equal(await wire.answer(), undefined, 'nothing more is answered');
  await wire.closed();
  return answer;
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
  ['a target in absolute form', request('GET http://elsewhere.test/healthz HTTP/1.1')],
  ['a target that is an asterisk', request('OPTIONS * HTTP/1.1')],
  ['a zero byte in the path', request('GET /v1/responses/%00 HTTP/1.1')],
  ['a target without its slash', request('GET healthz HTTP/1.1')],
  ['HTTP/1.0 with chunks', request('POST /v1/messages HTTP/1.0', CHUNKED, '0\r\n\r\n')],
  ['a length and chunks', request('POST /v1/messages HTTP/1.1', [['content-length', '5'], ...CHUNKED], '0\r\n\r\n')],
  ['chunks and a length', request('POST /v1/messages HTTP/1.1', [...CHUNKED, ['content-length', '5']], '0\r\n\r\n')],
  [
    'two lengths',
    request(
      'POST /v1/messages HTTP/1.1',
      [
        ['content-length', '1'],
        ['content-length', '2'],
      ],
      'ab',
    ),
  ],
  ['a list of lengths', request('POST /v1/messages HTTP/1.1', [['content-length', '1, 1']], 'a')],
  ['a negative length', request('POST /v1/messages HTTP/1.1', [['content-length', '-1']])],
  ['a length in hexadecimal', request('POST /v1/messages HTTP/1.1', [['content-length', '0x2']], 'ab')],
  ['a length with a plus sign', request('POST /v1/messages HTTP/1.1', [['content-length', '+2']], 'ab')],
  [
    'a coding beside chunked',
    request('POST /v1/messages HTTP/1.1', [['transfer-encoding', 'gzip, chunked']], '0\r\n\r\n'),
  ],
  ['a coding that is not chunked', request('POST /v1/messages HTTP/1.1', [['transfer-encoding', 'identity']])],
  ['chunked twice', request('POST /v1/messages HTTP/1.1', [...CHUNKED, ...CHUNKED], '0\r\n\r\n')],
  ['chunked behind a tab', request('POST /v1/messages HTTP/1.1', [['transfer-encoding', '\x0bchunked']], '0\r\n\r\n')],
  ['chunked in other letters', request('POST /v1/messages HTTP/1.1', [['transfer-encoding', 'xchunked']], '0\r\n\r\n')],
  ['a space before the colon', 'GET /healthz HTTP/1.1\r\nhost : a\r\n\r\n'],
  ['a folded header', 'GET /healthz HTTP/1.1\r\nhost: a\r\nx-one: b\r\n c\r\n\r\n'],
  ['a header without a name', 'GET /healthz HTTP/1.1\r\nhost: a\r\n: b\r\n\r\n'],
  ['lines that end in a bare line feed', 'GET /healthz HTTP/1.1\nhost: a\n\n'],
  ['a bare carriage return in a value', 'GET /healthz HTTP/1.1\r\nhost: a\r\nx-one: b\rc\r\n\r\n'],
  ['a zero byte in a value', 'GET /healthz HTTP/1.1\r\nhost: a\r\nx-one: b\0c\r\n\r\n'],
  ['an unknown method', request('BREW /healthz HTTP/1.1')],
  ['an unknown version', request('GET /healthz HTTP/3.7')],
  ['bytes that are no HTTP', Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03])],
  ['text that is no HTTP', 'hello?\r\n\r\n'],
  ['a chunk size that is no number', `${request('POST /v1/messages HTTP/1.1', CHUNKED)}zz\r\n`],
] as const) {
  test(`${about} is 400, and the connection is closed`, async () => {
    const answer = await assertClosesAfter(bytes, 400);
    const { error } = jsonOf(answer) as { error: { message: string } };
    assert.ok(error.message.length > 10);
  });
}

test('headers beyond all measure are 431, in one piece or in many', async () => {
  for (const headers of [
    [['x-big', 'x'.repeat(40_000)]],
    Array.from({ length: 900 }, (_, n) => [`x-${n}`, 'y'.repeat(40)]),
  ] as [string, string][][]) {
    const answer = await assertClosesAfter(request('GET /healthz HTTP/1.1', headers), 431);
    assert.equal(codeIn('openai', 431, jsonOf(answer)), 'headers_too_large');
  }
  assert.equal((await answerTo(request(`GET /${'x'.repeat(40_000)} HTTP/1.1`))).status, 431);
  assert.equal((await answerTo(request('GET /healthz HTTP/1.1', [['x-big', 'x'.repeat(20_000)]]))).status, 200);
});

test('a path that cannot be decoded is 400 in the dialect of the path', async () => {
  const paths: [string, ErrorFormat][] = [
    ['/v1/models/%', 'openai'],
    ['/v1/models/%zz', 'openai'],
    ['/v1/models/%ff%fe', 'openai'],
    ['/v1beta/models/%E0%A4%A', 'generate'],
    ['/v1beta/models/%c0%ae:generateContent', 'generate'],
    ['/v1/videos/%u0041', 'video'],
  ];
  for (const [path, envelope] of paths) {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const answer = await answerTo(request(`${method} ${path} HTTP/1.1`, [['content-length', '0']]));
      assert.ok([400, 405].includes(answer.status), `${method} ${path}: ${answer.status}`);
      codeIn(envelope, answer.status, jsonOf(answer));
    }
  }
});

test('a path that is no endpoint is 404 in the dialect of its beginning', async () => {
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
  for (const [path, envelope] of paths.slice(0, -1)) {
    const answer = await answerTo(request(`GET ${path} HTTP/1.1`));
    assert.equal(answer.status, 404, path);
    assert.equal(codeIn(envelope, 404, jsonOf(answer)), 'not_found', path);
  }
  assert.equal((await answerTo(request('GET /v1/models? HTTP/1.1'))).status, 401, 'an empty query is no other path');
});

test('a wrong method is 405 with those that are right', async () => {
  for (const [line, allow, envelope] of [
    ['GET /v1/messages', 'POST', 'messages'],
    ['PUT /v1/responses/resp_1', 'GET, DELETE', 'openai'],
    ['DELETE /v1/responses', 'POST, GET', 'openai'],
    ['PATCH /v1beta/models', 'GET', 'generate'],
    ['GET /v1beta/models/m:generateContent', 'GET, POST', 'generate'],
    ['POST /healthz', 'GET, HEAD', 'openai'],
    ['OPTIONS /v1/videos', 'POST, GET', 'video'],
    ['PROPFIND /v1/videos', 'POST, GET', 'video'],
    ['TRACE /v1/models', 'GET', 'openai'],
  ] as const) {
    if (line.includes(':')) continue;
    const answer = await answerTo(request(`${line} HTTP/1.1`, [['content-length', '0']]));
    assert.equal(answer.status, 405, line);
    assert.equal(codeIn(envelope, 405, jsonOf(answer)), 'method_not_allowed');
    assert.deepEqual(new Set(answer.headers.get('allow')?.split(', ')), new Set(allow.split(', ')), line);
  }
});

test('HEAD has an answer without a body, and the connection goes on', async () => {
  const wire = new Wire(gateway.url);
  for (const [path, status] of [
    ['/healthz', 200],
    ['/readyz', 200],
    ['/metrics', 405],
    ['/nowhere', 404],
    ['/v1/models/%zz', 405],
  ] as const) {
    wire.send(request(`HEAD ${path} HTTP/1.1`));
    const answer = await wire.answer({ head: true });
    assert.ok(answer);
    assert.ok([status, 400].includes(answer.status), `${path}: ${answer.status}`);
    if (status === 200) {
      const whole = await answerTo(request(`GET ${path} HTTP/1.1`));
      assert.equal(answer.headers.get('content-length'), whole.headers.get('content-length'), 'as GET would answer');
    }
  }
  wire.send(HEALTH);
  assert.equal((await wire.answer())?.status, 200);
  wire.end();
});

test('an expectation that is not known is refused with a body, a known one is met', async () => {
  const strange = await answerTo(
    request('POST /v1/messages HTTP/1.1', [
      ['expect', 'miracles'],
      ['content-length', '0'],
    ]),
  );
  assert.equal(strange.status, 417);
  codeIn('messages', 417, jsonOf(strange));
  const known = await answerTo(request('GET /healthz HTTP/1.1', [['expect', '100-continue']]));
  assert.equal(known.status, 200);
});

test('a client that offers HTTP/2 is answered in HTTP/1.1, as if it had not', async () => {
  const offer = [
    ['connection', 'Upgrade, HTTP2-Settings'],
    ['upgrade', 'h2c'],
    ['http2-settings', 'AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA'],
  ] as const;
  const wire = new Wire(gateway.url);
  wire.send(request('GET /healthz HTTP/1.1', offer));
  assert.equal((await wire.answer())?.status, 200);
  wire.send(request('POST /v1/messages HTTP/1.1', [...offer, ['content-length', '2']], '{}'));
  assert.equal((await wire.answer())?.status, 401);
  wire.send(HEALTH);
  assert.equal((await wire.answer())?.status, 200, 'the connection goes on');
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

test('a frame in one packet with its handshake is read, also when the key is known and nothing is waited for', async () => {
  const frame = Buffer.concat([Buffer.from([0x81, 0x80 | 8, 0, 0, 0, 0]), Buffer.from('not JSON')]);
  for (let n = 0; n < 2; n += 1) {
    const { socket } = new Wire(gateway.url);
    let heard = '';
    socket.on('data', (bytes) => {
      heard += bytes.toString('latin1');
    });
    socket.write(Buffer.concat([Buffer.from(request('GET /v1/responses HTTP/1.1', [...handshake(), NONCE])), frame]));
    await until('an answer to the frame', () => heard.includes('invalid_json'));
    assert.match(heard, /^HTTP\/1\.1 101 /);
    socket.destroy();
  }
});

test('a handshake that is none is refused in our words', async () => {
  for (const bytes of [
    request('GET /v1/responses HTTP/1.1', handshake()),
    request('POST /v1/responses HTTP/1.1', [...handshake(), NONCE, ['content-length', '2']], '{}'),
  ]) {
    const answer = await assertClosesAfter(bytes, 400);
    assert.equal(codeIn('openai', 400, jsonOf(answer)), 'invalid_request');
  }
});

test('pipelined requests are answered in their order', async () => {
  const wire = new Wire(gateway.url);
  const lines = ['/healthz', '/nowhere', '/v1/models', '/openapi.json', '/v1beta/models', '/healthz'];
  wire.send(lines.map((path) => request(`GET ${path} HTTP/1.1`)).join(''));
  const statuses: (number | undefined)[] = [];
  for (const _ of lines) statuses.push((await wire.answer())?.status);
  assert.deepEqual(statuses, [200, 404, 401, 200, 401, 200]);
  wire.end();
});

test('a connection stays open after an error that was no fault of its bytes', async () => {
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
    const answer = await wire.answer();
    assert.ok(answer);
    if (answer.headers.get('connection') === 'close') return assert.fail(`closed after ${status}`);
    assert.ok([status, 401].includes(answer.status), `${status} expected, got ${answer.status}`);
  }
  wire.end();
});

test('HTTP/1.0 gets its answer and the end of the connection', async () => {
  const wire = new Wire(gateway.url);
  wire.send('GET /healthz HTTP/1.0\r\n\r\n');
  assert.equal((await wire.answer())?.status, 200);
  await wire.closed();
});

const UPLOAD = 64 * 2 ** 20;
for (const [about, headers] of [
  ['declared', [['content-length', String(UPLOAD)]]],
  ['chunked', [['transfer-encoding', 'chunked']]],
] as const) {
  test(`64 MB from nobody, ${about}, are refused and cut after little`, async () => {
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
    // What the kernel buffers on both sides is beyond us; it is a few MB.
    assert.ok(sent < 24 * 2 ** 20, `${sent} bytes were taken`);
  });
}

test('who is refused before sending a body hears why, and a sender that then stalls is cut', async () => {
  const large = await assertClosesAfter(request('POST /v1/messages HTTP/1.1', [['content-length', '100000']]), 401);
  assert.equal(codeIn('messages', 401, jsonOf(large)), 'invalid_api_key');
  const wire = new Wire(gateway.url);
  wire.send(request('POST /v1/messages HTTP/1.1', [['content-length', '1000']], 'only the beginning'));
  assert.equal((await wire.answer())?.status, 401);
  await wire.closed();
});

test('every answer has an id of its own', async () => {
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
  for (const path of paths) ids.push((await answerTo(request(`GET ${path} HTTP/1.1`))).headers.get('x-request-id'));
  assert.equal(new Set(ids).size, paths.length);
  const messages = await answerTo(request('POST /v1/messages HTTP/1.1', [['content-length', '0']]));
  const id = messages.headers.get('x-request-id');
  assert.equal(messages.headers.get('request-id'), id, 'where that dialect looks for it');
  assert.equal((jsonOf(messages) as { request_id: string }).request_id, id);
});

test('operators see that it lives, that it is ready, what it does and what it offers', async () => {
  assert.deepEqual(jsonOf(await answerTo(HEALTH)), { status: 'alive' });
  assert.deepEqual(jsonOf(await answerTo(request('GET /readyz HTTP/1.1'))), { status: 'ready' });
  const metrics = await answerTo(request('GET /metrics HTTP/1.1'));
  assert.match(metrics.headers.get('content-type') ?? '', /^text\/plain/);
  assert.match(metrics.text, /dragoman_request_duration_seconds_bucket\{[^}]*operation="operator\.alive"[^}]*\} \d/);
  assert.match(metrics.text, /^dragoman_open_requests \d+/m);
  const openapi = jsonOf(await answerTo(request('GET /openapi.json HTTP/1.1'))) as { openapi: string; paths: object };
  assert.equal(openapi.openapi, '3.1.0');
  assert.ok('/v1/messages' in openapi.paths && '/v1beta/models/{model}:generateContent' in openapi.paths);
});

test('each call leaves one line in the log, without query, key or body', async () => {
  const secret = 'sk-somebody-elses-credential';
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
    const { headers, status } = await answerTo(bytes);
    const linesOf = () => gateway.log.filter(({ request: id }) => id === headers.get('x-request-id'));
    await until('the line', () => linesOf().some(({ msg }) => msg === 'request.completed'));
    const lines = linesOf().filter(({ msg }) => msg === 'request.completed');
    assert.equal(lines.length, 1);
    assert.equal(lines[0]?.status, status);
    assert.equal(typeof lines[0]?.ms, 'number');
  }
  const text = gateway.log.map((line) => JSON.stringify(line)).join('\n');
  for (const word of [key, secret, 'whisper', '?key', 'Bearer'])
    assert.ok(!text.includes(word), `the log holds ${word.slice(0, 8)}`);
});

test('a client that leaves in the middle of its body is no bug of ours', async () => {
  const before = gateway.log.length;
  const news = (event: string) => gateway.log.slice(before).filter(({ msg }) => msg === event);
  for (const leave of [(wire: Wire) => wire.socket.resetAndDestroy(), (wire: Wire) => wire.socket.end()]) {
    const wire = new Wire(gateway.url);
    const headers = [
      ['authorization', `Bearer ${key}`],
      ['content-length', '100'],
    ] as const;
    wire.send(request('POST /v1/responses HTTP/1.1', headers, '{"model":'));
    await until('the call to be open', async () => {
      const metrics = await fetch(`${gateway.url}/metrics`).then((response) => response.text());
      return Number(/^dragoman_open_requests (\d+)/m.exec(metrics)?.[1]) >= 2;
    });
    const done = news('request.completed').filter(({ op }) => op === 'responses.create').length;
    leave(wire);
    await until(
      'its log line',
      () => news('request.completed').filter(({ op }) => op === 'responses.create').length > done,
    );
  }
  assert.deepEqual(news('request.internal_error'), []);
});

/** A gateway on which calls with a key wait for `release`, since the table of keys is locked. */
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

test('a client that leaves is noted as such', () =>
  withWaitingCalls({}, async ({ own, call, isWaiting }) => {
    const wire = new Wire(own.url);
    wire.send(call);
    await until('the call to wait for the table', () => isWaiting(1));
    wire.end();
    const line = await until('the log line', () => own.log.find(({ msg }) => msg === 'request.completed'));
    assert.equal(line.outcome, 'client_closed');
  }));

test('a large body that is here before anybody reads it leaves the connection in order', () =>
  withWaitingCalls({}, async ({ own, key: held, isWaiting, release }) => {
    const wire = new Wire(own.url);
    const headers = [['authorization', `Bearer ${held}`] as const, ['content-length', '100000'] as const];
    wire.send(request('POST /v1/responses HTTP/1.1', headers, `{"model":"${'x'.repeat(99_988)}"}`));
    await until('the call to wait for the table', () => isWaiting(1));
    await until('the body to be taken in', () => wire.socket.writableLength === 0);
    await release();
    assert.ok([400, 404].includes((await wire.answer())?.status ?? 0));
    wire.send(HEALTH);
    assert.equal((await wire.answer())?.status, 200);
    wire.end();
  }));

test('a server that stops finishes what is open, takes nothing new, and says so', () =>
  withWaitingCalls({ DRAIN_MS: '20000' }, async ({ own, call, isWaiting, release }) => {
    const [first, second, idle] = [new Wire(own.url), new Wire(own.url), new Wire(own.url)];
    idle.send(HEALTH);
    assert.equal((await idle.answer())?.status, 200);
    first.send(call);
    await until('the call to wait for the table', () => isWaiting(1));
    // The same key is looked up once; the second call waits for the first one's query.
    second.send(call);
    await until('both to be open, beside the question itself', async () => {
      idle.send(request('GET /metrics HTTP/1.1'));
      return Number(/^dragoman_open_requests (\d+)/m.exec((await idle.answer())?.text ?? '')?.[1]) === 3;
    });
    const stopping = own.stop();
    await idle.closed();
    first.send(request('GET /readyz HTTP/1.1'));
    second.send(request('POST /v1/messages HTTP/1.1', [['content-length', '0']]));
    const late = new Wire(own.url);
    late.send(HEALTH);
    assert.equal(await late.answer(), undefined, 'nobody new is let in');
    await release();
    for (const wire of [first, second]) {
      const finished = await wire.answer();
      assert.ok(
        finished && ![401, 500, 503].includes(finished.status),
        `the open call was finished: ${finished?.status}`,
      );
    }
    const ready = await first.answer();
    assert.equal(ready?.status, 503);
    assert.deepEqual(jsonOf(ready), { status: 'not ready', reason: 'shutting down' });
    const refused = await second.answer();
    assert.equal(refused?.status, 529);
    assert.equal(codeIn('messages', 529, jsonOf(refused)), 'shutting_down');
    assert.ok(refused.headers.get('retry-after'));
    await Promise.all([first.closed(), second.closed(), stopping]);
  }));

test('what is still open when the time is over is cut', () =>
  withWaitingCalls({ DRAIN_MS: '100' }, async ({ own, call, isWaiting, release }) => {
    const open = new Wire(own.url);
    open.send(call);
    await until('the call to wait for the table', () => isWaiting(1));
    const stopping = own.stop();
    assert.equal(await open.answer(), undefined);
    await release();
    await stopping;
  }));

test('without its database a server lives but is not ready', async () => {
  const own = await startGateway();
  try {
    await own.database.drop();
    const ready = await fetch(`${own.url}/readyz`);
    assert.equal(ready.status, 503);
    assert.deepEqual(await ready.json(), { status: 'not ready', reason: 'the database does not answer' });
    assert.equal((await fetch(`${own.url}/healthz`)).status, 200);
  } finally {
    await own.stop();
  }
});
