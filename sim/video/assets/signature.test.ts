import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Sim, startSim } from '../../index.ts';
import { LibraryClient, SIGNER, type Signer, sign } from './fixtures.ts';

let sim: Sim;

before(async () => {
  sim = await startSim({
    video: { rateLimits: false, accessKeys: { 'AK-own': { secret: 'own secret', account: 'studio' } } },
  });
});

after(() => sim.close());

const LIST = { Filter: { GroupType: 'AIGC' } };

async function outcome(signer: Partial<Signer>): Promise<[number, string]> {
  const { status, code } = await new LibraryClient(sim.video.libraryUrl, signer).call('ListAssetGroups', LIST);
  return [status, code];
}

const MISMATCH = [401, 'SignatureDoesNotMatch'];

describe('a signed request', () => {
  test('is accepted with or without the content type in the signature', async () => {
    assert.deepEqual(await outcome({}), [200, '']);
    const signedHeaders = ['content-type', ...SIGNER.signedHeaders];
    assert.deepEqual(await outcome({ signedHeaders }), [200, '']);
    assert.deepEqual(await outcome({ time: Date.now() - 14 * 60_000 }), [200, '']);
  });

  test('belongs to the account of its access key', async () => {
    for (const [accessKey, secret, account] of [
      ['AK-simulated', 'SK-simulated', 'default'],
      ['AK-simulated-two', 'SK-simulated', 'two'],
      ['AK-own', 'own secret', 'studio'],
    ] as const) {
      sim.video.journal.clear();
      assert.deepEqual(await outcome({ accessKey, secret }), [200, '']);
      assert.equal(sim.video.journal.actions('ListAssetGroups')[0]?.account, account);
    }
  });

  test('is rejected when anything in its signature is wrong', async () => {
    assert.deepEqual(await outcome({ secret: 'SK-other' }), MISMATCH);
    assert.deepEqual(await outcome({ secret: 'AWS4SK-simulated' }), MISMATCH);
    assert.deepEqual(await outcome({ region: 'ap-southeast-1' }), MISMATCH);
    assert.deepEqual(await outcome({ service: 'tos' }), MISMATCH);
    assert.deepEqual(await outcome({ time: Date.now() - 16 * 60_000 }), MISMATCH);
    assert.deepEqual(await outcome({ time: Date.now() + 16 * 60_000 }), MISMATCH);
    for (const header of SIGNER.signedHeaders) {
      assert.deepEqual(
        await outcome({ signedHeaders: SIGNER.signedHeaders.filter((name) => name !== header) }),
        MISMATCH,
      );
    }
    assert.deepEqual(await outcome({ signedHeaders: SIGNER.signedHeaders.toReversed() }), MISMATCH);
    assert.deepEqual(await outcome({ accessKey: 'AK-unknown' }), [401, 'InvalidAccessKeyId']);
  });

  test('is rejected when the access key may not use the library', async () => {
    assert.deepEqual(await outcome({ accessKey: 'AK-forbidden' }), [403, 'AccessDenied']);
    assert.deepEqual(await outcome({ accessKey: 'AK-unsubscribed' }), [403, 'SubscriptionRequired']);
    assert.deepEqual(await outcome({ accessKey: 'AK-forbidden', secret: 'SK-other' }), MISMATCH);
  });

  test('is rejected when it is not what was signed', async () => {
    const query = 'Action=ListAssetGroups&Version=2024-01-01';
    const host = new URL(sim.video.libraryUrl).host;
    const body = JSON.stringify(LIST);
    const headers = sign(host, query, body, { ...SIGNER, time: Date.now() });
    const send = async (search: string, text: string, more: Record<string, string> = {}) => {
      const init = { method: 'POST', body: text, headers: { ...headers, ...more } };
      return (await fetch(`${sim.video.libraryUrl}/?${search}`, init)).status;
    };
    assert.equal(await send(query, body), 200);
    // The order of the query does not matter, its content does.
    assert.equal(await send('Version=2024-01-01&Action=ListAssetGroups', body), 200);
    assert.equal(await send(`${query}&More=1`, body), 401);
    assert.equal(await send('Action=ListAssets&Version=2024-01-01', body), 401);
    assert.equal(await send(query, `${body} `), 401);
    assert.equal(await send(query, body, { 'x-date': '20260101T000000Z' }), 401);
    assert.equal(await send(query, body, { authorization: 'Bearer sk-simulated' }), 401);
    assert.equal(await send(query, body, { authorization: '' }), 401);
  });

  test('is checked against real time when the clock is manual', async () => {
    const manual = await startSim({ video: { clock: 'manual', startAt: 0 } });
    await manual.video.clock.advance(86_400_000);
    const { status } = await new LibraryClient(manual.video.libraryUrl).call('ListAssetGroups', LIST);
    await manual.close();
    assert.equal(status, 200);
  });

  test('encodes the query as RFC 3986 asks', async () => {
    const host = new URL(sim.video.libraryUrl).host;
    const query = 'Action=ListAssetGroups&Note=a%20b%21%2A%28%29%27~&Version=2024-01-01';
    const headers = sign(host, query, JSON.stringify(LIST), { ...SIGNER, time: Date.now() });
    const sent = "Version=2024-01-01&Note=a+b!*()'~&Action=ListAssetGroups";
    const response = await fetch(`${sim.video.libraryUrl}/?${sent}`, {
      method: 'POST',
      body: JSON.stringify(LIST),
      headers,
    });
    assert.equal(response.status, 200);
  });

  test('is rejected when its action or version does not exist', async () => {
    const client = new LibraryClient(sim.video.libraryUrl);
    const { status, code, body } = await client.call('DropEverything');
    assert.deepEqual([status, code], [404, 'InvalidActionOrVersion']);
    const { RequestId, ...metadata } = body.ResponseMetadata;
    assert.notEqual(RequestId, '');
    assert.deepEqual(
      { ...metadata, Error: undefined },
      { Action: 'DropEverything', Version: '2024-01-01', Service: 'ark', Region: 'cn-beijing', Error: undefined },
    );
    assert.equal(body.Result, undefined);
  });
});
