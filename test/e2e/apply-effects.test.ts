/** The order of models, and the effect of an apply on model names that the file does not name. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { runHere } from '../support/cli.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
let folder: string;
let count = 0;
let group: string;
const admin = adminApi(() => gateway.url);

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'dragoman-effects-'));
  gateway = await startGateway({ env: { ADMIN_TOKEN } });
});
after(async () => {
  await gateway?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const model = (id: string, input: string) => ({ id, groups: [group], prices: { input, output: '1' } });
const priceOf = (name: string) => {
  const line = gateway.catalog().resolve(group, name)?.line;
  return line && [line.pattern, (line.prices[0]?.rates as { input?: string } | undefined)?.input];
};

beforeEach(async () => {
  count += 1;
  group = `g${count}`;
  await gateway.apply({
    groups: [{ id: group, style: 'messages' }],
    models: [model('b-1', '1'), model('a-foo', '2'), model('a-*', '3'), model('*', '88')],
  });
});

test('a partial apply leaves the order and the prices of models that it does not name', async () => {
  await gateway.apply({ models: [model('*', '88')] });
  assert.deepEqual(priceOf('a-foo'), ['a-foo', '2']);
  await gateway.apply({ models: [model('*', '99'), model('a-new', '5'), model('c-*', '6')] });
  assert.deepEqual(priceOf('a-foo'), ['a-foo', '2']);
  assert.deepEqual(priceOf('a-bar'), ['a-*', '3']);
  assert.deepEqual(priceOf('a-new'), ['a-new', '5'], 'before the pattern that would hide it');
  assert.deepEqual(priceOf('other'), ['*', '99']);
});

test('the admin API names models without a price', async () => {
  const body = { models: [{ id: 'priceless', groups: [group] }] };
  const { unpriced } = (await admin<{ unpriced: string[] }>('PUT', '/config?dry_run=true', body)).body;
  assert.deepEqual(unpriced, [`priceless of ${group}`]);
});

interface AppliedConfig {
  readonly changes: readonly { readonly what: string; readonly object: string }[];
  readonly effects: readonly { readonly model: string; readonly named: boolean; readonly after: unknown }[];
}

test('the admin API lists the effect on every existing name, and rejects new prices of names that are not named', async () => {
  const body = { models: [model('*', '88'), model('a-*', '3'), model('b-1', '7')] };
  const planned = await admin<AppliedConfig>('PUT', '/config?dry_run=true', body);
  assert.deepEqual(
    planned.body.changes.map(({ object }) => object),
    [`model b-1 of ${group}`, `order of the models of ${group}`],
  );
  const effects = planned.body.effects.map(({ model, named, after }) => ({ model, named, after }));
  assert.deepEqual(effects, [
    { model: 'b-1', named: true, after: { line: '*', prices: { input: '88', output: '1' } } },
    { model: 'a-foo', named: false, after: { line: '*', prices: { input: '88', output: '1' } } },
  ]);

  const rejected = await admin('PUT', '/config', body);
  assert.equal(rejected.status, 400);
  assert.match(
    rejected.text,
    /a-foo of g\d \(line a-foo -> \*\): input=2 output=1 -> input=88 output=1; not named in the file/,
  );
  assert.match(rejected.text, /accept_repricing=true/);
  assert.deepEqual(priceOf('a-foo'), ['a-foo', '2']);

  assert.equal((await admin('PUT', '/config?accept_repricing=true', body)).status, 200);
});

test('names that callers used are known too, where the catalog has patterns only', async () => {
  await gateway.context.database.db
    .insertInto('usage_daily')
    .values({
      user_id: 'ana',
      day: new Date(),
      key_id: 'k',
      group_id: group,
      model: 'a-used',
      account_id: 'x',
      operation: 'messages.create',
      ...Object.fromEntries(
        ['requests', 'input_tokens', 'cached_input_tokens', 'cache_write_tokens', 'output_tokens', 'reasoning_tokens']
          .concat(['audio_tokens', 'image_tokens', 'searches', 'images', 'nanos', 'estimated'])
          .map((name) => [name, 1n]),
      ),
    } as never)
    .execute();
  const body = { models: [model('a-u*', '9'), model('a-*', '3')] };
  const { effects } = (await admin<AppliedConfig>('PUT', '/config?dry_run=true', body)).body;
  assert.deepEqual(effects, [
    {
      group,
      model: 'a-used',
      before: { line: 'a-*', prices: { input: '3', output: '1' } },
      after: { line: 'a-u*', prices: { input: '9', output: '1' } },
      named: false,
    },
  ]);
});

test('apply shows the effect before it changes prices of unnamed models, and needs --yes without a terminal', async () => {
  const { DATABASE_URL, MASTER_KEY, DATA_DIR } = gateway.context.config;
  const env = { DATABASE_URL, MASTER_KEY, DATA_DIR };
  const file = join(folder, 'setup.json');
  writeFileSync(file, JSON.stringify({ models: [model('*', '88'), model('a-foo', '2'), model('a-*', '3')] }));
  const effect = `a-foo of ${group} (line a-foo -> *): input=2 output=1 -> input=88 output=1`;
  const dry = await runHere(['apply', file, '--dry-run'], { env });
  assert.ok(dry.stderr.includes(effect), dry.stderr);
  writeFileSync(file, JSON.stringify({ models: [model('*', '88'), model('b-1', '1')] }));
  const asked = await runHere(['apply', file], { env });
  assert.equal(asked.code, 1);
  assert.ok(asked.stderr.includes(`${effect}; not named in the file`), asked.stderr);
  assert.match(asked.stderr, /Nothing was changed: prices of models that the file does not name would change/);
  const applied = await runHere(['apply', file, '--yes'], { env });
  assert.equal(applied.code, 0, applied.stderr);
});
