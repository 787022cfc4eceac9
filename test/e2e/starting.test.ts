/** Requests before the configuration of the start is applied: clients take 401 as final, and a proxy tries another server if none listens. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePort } from '../../bench/child.ts';
import { applySetup, parseSetup } from '../../src/catalog/setup/index.ts';
import { startGateway } from '../support/gateway.ts';

const KEY = 'a-key-of-the-configuration-of-the-start';
const SETUP = {
  groups: [{ id: 'claude', style: 'messages' }],
  users: [{ id: 'ann' }],
  keys: [{ user: 'ann', group: 'claude', name: 'first', key: KEY }],
};

test('a server takes connections when its configuration is applied', async () => {
  const port = await freePort();
  const models = () => fetch(`http://127.0.0.1:${port}/v1/models`, { headers: { 'x-api-key': KEY } });
  const gateway = await startGateway({
    env: { PORT: String(port) },
    prepare: async (context) => {
      await assert.rejects(models(), ({ cause }) => cause.code === 'ECONNREFUSED');
      await applySetup(context.database.db, parseSetup(JSON.stringify(SETUP)), { secrets: context.secrets });
    },
  });
  try {
    assert.equal((await models()).status, 200);
  } finally {
    await gateway.stop();
  }
});
