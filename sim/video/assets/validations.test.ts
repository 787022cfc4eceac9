import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type Sim, startSim } from '../../index.ts';
import { LibraryClient } from './fixtures.ts';

let sim: Sim;
let client: LibraryClient;

before(async () => {
  sim = await startSim({ video: { clock: 'manual', rateLimits: false } });
  client = new LibraryClient(sim.video.libraryUrl);
});

beforeEach(() => sim.video.journal.clear());

after(() => sim.close());

const CALLBACK = 'https://gateway.example/return/secret?keep=1';
const PENDING = [404, 'NotFound.byted_token', undefined];

const open = () => client.result('CreateVisualValidateSession', { CallbackURL: CALLBACK });

/** Presses a button of the page; returns the parameters of the redirect. */
async function press(link: string, result: string): Promise<Record<string, string>> {
  const body = new URLSearchParams({ result });
  const response = await fetch(link, { method: 'POST', body, redirect: 'manual' });
  assert.equal(response.status, 303);
  const location = new URL(response.headers.get('location') ?? '');
  assert.equal(location.origin + location.pathname, 'https://gateway.example/return/secret');
  return Object.fromEntries(location.searchParams);
}

async function resultOf(token: string, by = client): Promise<unknown[]> {
  const { status, code, result } = await by.call('GetVisualValidateResult', { BytedToken: token });
  return [status, code, result?.GroupId];
}

describe('a validation', () => {
  test('is not found by another account', async () => {
    const { BytedToken } = await open();
    sim.video.validations.pass(BytedToken);
    const other = new LibraryClient(sim.video.libraryUrl, { accessKey: 'AK-simulated-other' });
    assert.deepEqual(await resultOf(BytedToken, other), PENDING);
  });

  test('fails with an error that is not 404', async () => {
    const { BytedToken, H5Link } = await open();
    const { resultCode } = await press(H5Link, 'fail');
    assert.notEqual(resultCode, '10000');
    assert.deepEqual(await resultOf(BytedToken), [400, 'ValidationFailed', undefined]);
  });

  test('stays pending when the person leaves or the redirect is forged', async () => {
    const abandoned = await open();
    assert.notEqual((await press(abandoned.H5Link, 'abandon')).resultCode, '10000');
    assert.deepEqual(await resultOf(abandoned.BytedToken), PENDING);
    const { BytedToken, H5Link } = await open();
    assert.equal((await press(H5Link, 'forge')).resultCode, '10000');
    assert.deepEqual(await resultOf(BytedToken), PENDING);
    const validation = sim.video.validations.get(BytedToken);
    assert.ok(validation);
    assert.match(sim.video.validations.redirectUrl(validation, 'passed'), /resultCode=10000/);
    assert.equal((await press(H5Link, 'pass')).resultCode, '10000');
    assert.equal((await resultOf(BytedToken))[0], 200);
  });

  test('has a link that works once, for half an hour', async () => {
    const used = await open();
    await press(used.H5Link, 'fail');
    assert.equal((await fetch(used.H5Link)).status, 410);
    assert.throws(() => sim.video.validations.pass(used.BytedToken), RangeError);
    const expired = await open();
    await sim.video.clock.advance(30 * 60_000 - 1);
    assert.equal((await fetch(expired.H5Link)).status, 200);
    await sim.video.clock.advance(1);
    assert.equal((await fetch(expired.H5Link)).status, 410);
    assert.equal((await fetch(`${sim.url}/h5/validate?token=none`)).status, 410);
    assert.equal((await fetch(expired.H5Link, { method: 'POST', body: 'result=pass' })).status, 410);
    const open2 = await open();
    assert.equal((await fetch(open2.H5Link, { method: 'POST', body: 'result=win' })).status, 400);
    sim.video.validations.pass(open2.BytedToken);
    await sim.video.clock.advance(30 * 60_000);
    assert.deepEqual(await resultOf(open2.BytedToken), PENDING);
  });

  test('reports its result once in that mode, and without an envelope in another', async () => {
    const { BytedToken } = await open();
    const { groupId } = sim.video.validations.pass(BytedToken);
    sim.video.settings.validationResults = 'bare';
    sim.video.settings.singleResultRead = true;
    const { body } = await client.call('GetVisualValidateResult', { BytedToken });
    assert.deepEqual(body, { GroupId: groupId });
    assert.deepEqual(await resultOf(BytedToken), PENDING);
    sim.video.settings.validationResults = 'enveloped';
    sim.video.settings.singleResultRead = false;
  });

  test('leads to a group that accepts only pictures of the person', async () => {
    const { BytedToken } = await open();
    const { groupId = '' } = sim.video.validations.pass(BytedToken);
    const same = await client.createAsset(groupId);
    const other = await client.createAsset(groupId, { URL: 'https://example.com/a.png?sim=fail=FaceMismatch' });
    await sim.video.clock.advance(3_000);
    assert.equal(await client.statusOf(same), 'Active');
    assert.equal((await client.result('GetAsset', { Id: other })).Error?.Code, 'FaceMismatch');
  });

  test('is rejected without a usable callback URL', async () => {
    for (const [body, code] of [
      [{}, 'MissingParameter'],
      [{ CallbackURL: 'ftp://example.com' }, 'InvalidParameter'],
      [{ CallbackURL: CALLBACK, ProjectName: 'none' }, 'NotFound.ProjectName'],
    ] as const) {
      assert.equal((await client.call('CreateVisualValidateSession', body)).code, code);
    }
    assert.equal((await client.call('GetVisualValidateResult', {})).code, 'MissingParameter');
  });
});
