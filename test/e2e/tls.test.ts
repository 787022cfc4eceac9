/** The gateway with a certificate of its own: HTTPS, streams and WebSockets over TLS, renewed files, and the checks of doctor. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get, request } from 'node:https';
import { connect as connectTcp, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, type TestContext, test } from 'node:test';
import { connect, type SecureVersion, type TLSSocket } from 'node:tls';
import { WebSocket } from 'ws';
import { type Sim, startSim } from '../../sim/index.ts';
import { SERVER_BOUNDS } from '../../src/platform/http/bounds.ts';
import { certificateFor } from '../support/certificate.ts';
import { runHere } from '../support/cli.ts';
import { run } from '../support/command.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { longTest } from '../support/long-test.ts';
import { until } from '../support/wait.ts';
import { withoutWebSocket } from '../support/websocket.ts';

type Pair = ReturnType<typeof certificateFor>;
const HOST = 'gateway.test';
const folder = mkdtempSync(join(tmpdir(), 'dragoman-tls-'));
const env = { TLS_CERT: join(folder, 'cert.pem'), TLS_KEY: join(folder, 'key.pem') };
const first = certificateFor(HOST, 90);

let sim: Sim;
let gateway: TestGateway;
let key: string;

const install = ({ cert, key }: Pair): void => {
  writeFileSync(env.TLS_CERT, cert);
  writeFileSync(env.TLS_KEY, key);
};

before(async () => {
  install(first);
  sim = await startSim();
  gateway = await startGateway({ env: { ...env, METRICS_PORT: '0' } });
  key = (await gateway.apply(withoutWebSocket(basicSetup(sim.url)))).openai ?? '';
});
after(async () => {
  await gateway?.stop();
  await sim?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function post(path: string, body: object, { cert }: Pair = first): Promise<{ status: number; body: string }> {
  const sent = request(gateway.url + path, {
    method: 'POST',
    ca: cert,
    servername: HOST,
    agent: false,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  });
  sent.end(JSON.stringify(body));
  const [response] = await once(sent, 'response');
  return { status: response.statusCode, body: await text(response) };
}

const handshake = (options: object = {}): TLSSocket => {
  const { hostname, port } = new URL(gateway.url);
  return connect({ host: hostname, port: Number(port), servername: HOST, ca: first.cert, ...options });
};

const isServed = async ({ cert }: Pair): Promise<boolean> => {
  const socket = handshake({ ca: cert });
  const [outcome] = await Promise.race([
    once(socket, 'secureConnect').then(() => ['open']),
    once(socket, 'error'),
  ]).catch(() => ['error']);
  socket.destroy();
  return outcome === 'open';
};

test('a gateway with a certificate serves HTTPS, and its links are HTTPS', async () => {
  assert.match(gateway.url, /^https:\/\/127\.0\.0\.1:\d+$/);
  const { status, body } = await post('/v1/responses', { model: 'demo-responses', input: 'hello' });
  assert.equal(status, 200, body);
  assert.equal(JSON.parse(body).status, 'completed');
});

test('the metrics port speaks HTTPS too', async () => {
  const port = gateway.log.find(({ msg }) => msg === 'metrics.ready')?.port;
  const sent = get(`https://127.0.0.1:${port}/metrics`, { ca: first.cert, servername: HOST, agent: false });
  const [response] = await once(sent, 'response');
  assert.match(await text(response), /^# HELP dragoman_/m);
});

test('a response streams over TLS to its end', async () => {
  const { status, body } = await post('/v1/responses', { model: 'demo-responses', input: 'hello', stream: true });
  assert.equal(status, 200);
  assert.match(body, /event: response\.created/);
  assert.match(body, /event: response\.completed/);
});

test('a large request body arrives over TLS', async () => {
  const { status, body } = await post('/v1/responses', { model: 'demo-responses', input: 'word '.repeat(400_000) });
  assert.equal(status, 200, body.slice(0, 200));
});

test('a WebSocket turn runs over TLS', async () => {
  // ws passes all options on to TLS, but does not declare `servername`.
  const options = { ca: first.cert, servername: HOST, headers: { authorization: `Bearer ${key}` } };
  const socket = new WebSocket(`${gateway.url.replace('https', 'wss')}/v1/responses`, options);
  const types: string[] = [];
  socket.on('message', (data) => types.push(JSON.parse(String(data)).type));
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'response.create', model: 'demo-responses', input: 'hello' }));
  await until('the turn to end', () => types.includes('response.completed'));
  socket.close();
  await once(socket, 'close');
});

test('TLS before 1.2 is refused, and HTTP/1.1 is negotiated', async () => {
  const modern = handshake({ ALPNProtocols: ['h2', 'http/1.1'] });
  await once(modern, 'secureConnect');
  assert.equal(modern.alpnProtocol, 'http/1.1');
  modern.destroy();
  const version: SecureVersion = 'TLSv1.1';
  const old = handshake({ minVersion: version, maxVersion: version, ciphers: 'DEFAULT@SECLEVEL=0' });
  const [error] = await once(old, 'error');
  assert.match(String(error.code), /^ERR_SSL_/);
});

longTest(
  'a renewed certificate is served without a restart, and a broken one keeps the old one and is logged',
  async () => {
    const second = certificateFor(HOST, 90);
    install(second);
    await until('the new certificate', () => isServed(second));
    assert.equal((await post('/v1/responses', { model: 'demo-responses', input: 'hello' }, second)).status, 200);
    writeFileSync(env.TLS_CERT, 'not a certificate');
    const failed = await until('the error in the log', () =>
      gateway.log.find(({ msg }) => msg === 'tls.reload_failed'),
    );
    assert.match(String(failed.reason), /^TLS_CERT: .*cert\.pem holds no PEM certificate\.$/);
    assert.ok(await isServed(second), 'the certificate before the broken one is still served');
    install(first);
    await until('the first certificate again', () => isServed(first));
  },
);

/** A server with this time limit of the handshake, and a connection that never begins its own. */
async function withoutHandshake(t: TestContext, limitMs: number): Promise<{ other: TestGateway; silent: Socket }> {
  const bound: { limit: number } = SERVER_BOUNDS.handshakeMs;
  t.mock.property(bound, 'limit', limitMs);
  const other = await startGateway({ env });
  t.after(() => other.stop());
  const silent = connectTcp(Number(new URL(other.url).port), '127.0.0.1').resume();
  silent.on('error', () => {});
  await once(silent, 'connect');
  return { other, silent };
}

test('a connection that never begins its handshake is closed', async (t) => {
  const { silent } = await withoutHandshake(t, 200);
  await until('the server to close it', () => silent.closed);
});

test('a connection without a handshake does not delay the shutdown', async (t) => {
  const { other, silent } = await withoutHandshake(t, 3_600_000);
  await other.stop();
  await until('the end of the connection', () => silent.closed);
});

test('a server with a key of another certificate does not start, and says which file is wrong', async () => {
  const DATA_DIR = mkdtempSync(join(folder, 'data-'));
  const wrong = join(DATA_DIR, 'other.pem');
  writeFileSync(wrong, certificateFor(HOST).key);
  const extra = { DATA_DIR, DATABASE_URL: gateway.database.url, MASTER_KEY: `k1:${'test-master-key-'.repeat(3)}` };
  const { code, stderr } = await run(['serve'], { env: { ...env, ...extra, TLS_KEY: wrong } });
  assert.notEqual(code, 0);
  assert.match(stderr, /TLS_KEY: .*other\.pem is not the key of the certificate in TLS_CERT\./);
});

test('doctor reports a certificate that is good, expires soon, has expired, or cannot be read', async () => {
  const DATA_DIR = mkdtempSync(join(folder, 'data-'));
  const files = { TLS_CERT: join(DATA_DIR, 'cert.pem'), TLS_KEY: join(DATA_DIR, 'key.pem') };
  const extra = { DATA_DIR, DATABASE_URL: gateway.database.url, MASTER_KEY: `k1:${'test-master-key-'.repeat(3)}` };
  const line = async (): Promise<string> =>
    /^.*Certificate .*$/m.exec((await runHere(['doctor'], { env: { ...extra, ...files } })).stdout)?.[0] ?? '';
  assert.match(await line(), /^BAD .*TLS_CERT: .*cert\.pem cannot be read \(ENOENT\)\.$/);
  for (const [days, expected] of [
    [90, /^ok .*can be used$/],
    [29, /^note .*expires soon; renew it$/],
    [-1, /^BAD .*has expired/],
  ] as const) {
    const { cert, key } = certificateFor(HOST, days);
    writeFileSync(files.TLS_CERT, cert);
    writeFileSync(files.TLS_KEY, key);
    assert.match(await line(), expected);
  }
});
