/** Who may read the metrics, and what a scrape costs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/core/index.ts';
import { connect } from '../../src/platform/db/index.ts';
import { errorCode } from '../support/error-body.ts';
import { startGateway } from '../support/gateway.ts';

const TOKEN = 'a-token-for-the-metrics';

test('GET /metrics requires METRICS_TOKEN', async () => {
  const gateway = await startGateway({ env: { METRICS_TOKEN: TOKEN } });
  try {
    const scrape = (headers: Record<string, string>): Promise<Response> => fetch(`${gateway.url}/metrics`, { headers });
    for (const authorization of [undefined, 'Bearer another-token-of-the-same', `Basic ${TOKEN}`]) {
      const rejected = await scrape(authorization === undefined ? {} : { authorization });
      assert.equal(errorCode('openai', rejected.status, await rejected.json()), 'invalid_api_key');
      assert.equal(rejected.status, 401);
    }
    const accepted = await scrape({ authorization: `Bearer ${TOKEN}` });
    assert.equal(accepted.status, 200);
    const text = await accepted.text();
    assert.match(text, /^dragoman_open_requests /m);
    assert.match(text, /^dragoman_build_info\{version="[^"]+",node="v[^"]+"\} 1$/m);
    const head = await fetch(`${gateway.url}/metrics`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    assert.deepEqual([head.status, await head.text()], [200, '']);
  } finally {
    await gateway.stop();
  }
});

test('METRICS_PORT serves the metrics, and nothing else, on a port of its own', async () => {
  const gateway = await startGateway({ env: { METRICS_PORT: '0', METRICS_TOKEN: TOKEN } });
  try {
    const port = gateway.log.find(({ msg }) => msg === 'metrics.ready')?.port;
    const url = `http://127.0.0.1:${port}`;
    const headers = { authorization: `Bearer ${TOKEN}` };
    assert.equal((await fetch(`${gateway.url}/metrics`, { headers })).status, 404);
    assert.equal((await fetch(`${gateway.url}/healthz`)).status, 200);
    assert.equal((await fetch(`${url}/metrics`)).status, 401);
    assert.match(await (await fetch(`${url}/metrics`, { headers })).text(), /operation="operator\.alive"/);
    for (const path of ['/healthz', '/v1/models', '/admin/v1/users', '/nothing'])
      assert.equal((await fetch(url + path, { headers })).status, 404);
  } finally {
    await gateway.stop();
  }
});

test('scrapes need no database, and several at a time get the same text', async () => {
  const gateway = await startGateway({ clock: { ...systemClock, elapsed: () => 0 } });
  const session = await connect(gateway.database.url);
  try {
    await session.query('begin; lock table alarms in access exclusive mode');
    const scrapes = Array.from({ length: 50 }, async () => (await fetch(`${gateway.url}/metrics`)).text());
    const texts = await Promise.all(scrapes);
    assert.match(texts[0] ?? '', /^dragoman_alarm\{alarm="flusher_failing"\} 0/m);
    assert.equal(new Set(texts).size, 1);
  } finally {
    await session.query('rollback');
    await session.end();
    await gateway.stop();
  }
});
