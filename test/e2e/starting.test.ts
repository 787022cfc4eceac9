/** Requests that arrive before the configuration of the start is applied: clients take 401 as final, so they must retry instead. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePort } from '../../bench/child.ts';
import { applySetup, parseSetup } from '../../src/setup/index.ts';
import { startGateway } from '../support/gateway.ts';

const KEY = 'a-key-of-the-configuration-of-the-start';
const SETUP = {
  groups: [{ id: 'claude', style: 'messages' }],
  users: [{ id: 'ann' }],
  keys: [{ user: 'ann', group: 'claude', name: 'first', key: KEY }],
};

test('a server that applies its configuration refuses calls for a moment, and then knows its keys', async () => {
  const port = await freePort();
  const models = () => fetch(`http://127.0.0.1:${port}/v1/models`, { headers: { 'x-api-key': KEY } });
  const during: Response[] = [];
  const gateway = await startGateway({
    env: { PORT: String(port) },
    prepare: async (context) => {
      during.push(await models(), await fetch(`http://127.0.0.1:${port}/healthz`));
      await applySetup(context.database.db, parseSetup(JSON.stringify(SETUP)), { secrets: context.secrets });
    },
  });
  try {
    assert.deepEqual(
      during.map(({ status }) => status),
      [503, 200],
    );
    assert.equal(during[0]?.headers.get('retry-after'), '1');
    assert.match((await during[0]?.text()) ?? '', /This server is starting/);
    assert.equal((await models()).status, 200);
  } finally {
    await gateway.stop();
  }
});
