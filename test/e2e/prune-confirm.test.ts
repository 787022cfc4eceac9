/** A prune that removes more than it keeps needs the number of objects, by the API and by the command. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { runHere } from '../support/cli.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';

const group = (id: string) => ({ id, style: 'responses' });
const model = (id: string, more: object = {}) => ({
  id,
  groups: ['one'],
  prices: { input: '1', output: '2' },
  ...more,
});
const WHOLE = {
  groups: [group('one'), group('two')],
  accounts: [{ id: 'a1', group: 'one', base_url: 'http://127.0.0.1:9/v1', api_key: 'k' }],
  models: [model('m1'), model('m2')],
  users: [{ id: 'ana' }],
  keys: [{ user: 'ana', group: 'one', name: 'k1', key: 'key-of-ana-0123456789-0123' }],
};

let gateway: TestGateway;
before(async () => {
  gateway = await startGateway({ env: { ADMIN_TOKEN }, setup: WHOLE });
});
after(() => gateway.stop());

const admin = adminApi(() => gateway.url);
const put = (document: object, query: string) =>
  admin<{ error?: { code?: string; message?: string }; changes?: unknown[] }>('PUT', `/config?${query}`, document);
const stored = async (): Promise<number> => {
  const { db } = gateway.context.database;
  const counts = await Promise.all(
    (['groups', 'accounts', 'models'] as const).map((table) => db.selectFrom(table).select('id').execute()),
  );
  return counts.flat().length;
};

test('the API answers 409 with the counts, and removes once the number is confirmed', async () => {
  const empty = { users: [] };
  for (const query of ['prune=true', 'prune=true&confirm=5', 'prune=true&confirm=0&accept_repricing=true']) {
    const { status, body } = await put(empty, query);
    assert.deepEqual([status, body.error?.code], [409, 'conflict'], JSON.stringify(body));
    assert.match(
      body.error?.message ?? '',
      /remove 2 groups, 1 account, 2 models, 1 key and keep 0 objects.*confirm=6/,
    );
    assert.equal(await stored(), 5, 'nothing was removed');
  }
  assert.equal((await put(empty, 'prune=true&confirm=all')).status, 400);
  assert.equal((await put(empty, 'prune=true&dry_run=true')).status, 200, 'a dry run needs none');
  assert.equal((await put({ ...WHOLE, groups: [group('one')] }, 'prune=true')).status, 200, 'most is kept');
  assert.equal(await stored(), 4);
  assert.equal((await put(WHOLE, 'prune=true')).status, 200);
  const replaced = { groups: [group('three'), group('four'), group('five')], users: [] };
  assert.equal((await put(replaced, 'prune=true')).status, 409, 'what is created is not kept');
  assert.equal((await put(empty, 'prune=true&confirm=6')).status, 200);
  assert.equal(await stored(), 0);
});

test('the command asks for --confirm with the number', async () => {
  await gateway.apply(WHOLE);
  const { DATA_DIR, DATABASE_URL, MASTER_KEY } = gateway.context.config;
  const file = join(DATA_DIR, 'empty.yaml');
  writeFileSync(file, '{}');
  const prune = (...more: string[]) =>
    runHere(['apply', file, '--prune', '--yes', ...more], { env: { DATA_DIR, DATABASE_URL, MASTER_KEY } });
  for (const more of [[], ['--confirm', '3']]) {
    const refused = await prune(...more);
    assert.equal(refused.code, 1);
    const keys = 'would remove 2 groups, 1 account, 2 models(, 1 key)? and keep 0 objects';
    assert.match(refused.stderr, new RegExp(`^Nothing was changed: --prune ${keys}\\. .* --confirm \\d\\.$`, 'm'));
    assert.equal(await stored(), 5);
  }
  const [, number = ''] = /--confirm (\d)/.exec((await prune()).stderr) ?? [];
  const done = await prune('--confirm', number);
  assert.equal(done.code, 0, done.stderr);
  assert.equal(await stored(), 0);
});

test('a fallback to a line without a price is a warning of the API', async () => {
  const document = {
    groups: [group('one'), group('far')],
    models: [
      model('m1', { fallback: ['far/dear', 'far/gratis', 'far/bare'] }),
      { id: 'dear', groups: ['far'], prices: { input: '1', output: '2' } },
      { id: 'gratis', groups: ['far'], free: true },
      { id: 'bare', groups: ['far'] },
    ],
  };
  const { body } = await admin<{ warnings: string[] }>('PUT', '/config', document);
  assert.deepEqual(
    body.warnings.map((line) => line.replace(/ \(line.*/, '')),
    ['models[0].fallback[2]: "far/bare" has no price, so that it takes no call; set prices or free: true'],
  );
});
