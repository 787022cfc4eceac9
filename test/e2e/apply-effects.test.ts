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

test('apply --diff shows every field without secrets, changes nothing, and ends with 2', async () => {
  const { DATA_DIR, DATABASE_URL, MASTER_KEY } = gateway.context.config;
  const env = { DATA_DIR, DATABASE_URL, MASTER_KEY };
  const path = join(folder, 'diff.yaml');
  const account = (url: string, key: string) =>
    `accounts:\n  - { id: "${group}-1", group: ${group}, base_url: "${url}", api_key: ${key} }\n`;
  const diff = (text: string) => {
    writeFileSync(path, text);
    return runHere(['apply', path, '--diff'], { env });
  };
  const url = 'https://user:word@x.test';
  const created = await diff(account(url, 'sk-first-secret'));
  assert.equal(created.code, 2);
  assert.match(created.stdout, /^ {2}api_key: \(none\) -> \(secret\)$/m);
  assert.equal((await admin<Page>('GET', `/accounts?group=${group}`)).body.data.length, 0);

  assert.equal((await runHere(['apply', path], { env })).code, 0);
  const same = await diff(account(url, 'sk-first-secret'));
  assert.deepEqual([same.code, same.stdout], [0, '']);
  const changed = await diff(
    `${account(`${url}/b`, 'sk-other-secret')}models:\n  - { id: b-1, groups: [${group}], prices: { input: "7", output: "1" } }\n`,
  );
  assert.equal(changed.code, 2);
  assert.deepEqual(changed.stdout.split('\n'), [
    `account ${group}-1`,
    '  base_url: "https://(secret)@x.test" -> "https://(secret)@x.test/b"',
    '  api_key: (secret) -> (another secret)',
    `model b-1 of ${group}`,
    '  prices: {"input":"1","output":"1"} -> {"input":"7","output":"1"}',
    '',
  ]);
  for (const { stdout, stderr } of [created, changed]) assert.doesNotMatch(stdout + stderr, /sk-|word/);
  assert.equal((await diff('accounts: 5')).code, 1);
});

test('a valid file with likely mistakes is applied with warnings that name the line', async () => {
  await gateway.apply({
    groups: [
      { id: `${group}-r`, style: 'responses' },
      { id: `${group}-v`, style: 'video', variant: 'A' },
    ],
  });
  const account = (id: string, style: string, url: string) =>
    `  - { id: ${group}-${id}, group: ${group}${style}, base_url: "${url}", api_key: k }\n`;
  const yaml = `accounts:
${account('1', '-r', 'https://api.openai.test')}${account('2', '-r', 'https://api.openai.test/v1/chat/completions')}\
${account('3', '', 'https://api.anthropic.test/v1/')}${account('4', '-v', 'https://ark.test')}\
${account('5', '-r', 'https://api.openai.test/v1')}${account('6', '', 'https://api.anthropic.test')}\
models:
  - { id: "a-*", groups: [${group}-r], free: true }
  - { id: a-foo, groups: [${group}-r], free: true }
  - { id: b-foo, groups: [${group}-r], prices: { input: "0", output: "0.0" } }
  - { id: c-foo, groups: [${group}-r], prices: { input: "0", output: "1" } }
`;
  const { body } = await admin<{ warnings: string[] }>('PUT', '/config', yaml, {
    'content-type': 'application/yaml',
  });
  assert.deepEqual(body.warnings, [
    'accounts[0].base_url: calls go to https://api.openai.test/responses; "https://api.openai.test/v1" was probably meant (line 2, column 30)',
    'accounts[1].base_url: calls go to https://api.openai.test/v1/chat/completions/responses; "https://api.openai.test/v1" was probably meant (line 3, column 30)',
    'accounts[2].base_url: calls go to https://api.anthropic.test/v1/v1/messages; "https://api.anthropic.test" was probably meant (line 4, column 28)',
    'accounts[3].base_url: calls go to https://ark.test/contents/generations/tasks; "https://ark.test/api/v3" was probably meant (line 5, column 30)',
    `models[1].id: "a-foo" has no effect in group ${group}-r, because "a-*" comes before it; move it up (line 10, column 7)`,
    'models[2].prices: every amount is 0, so calls cost nothing; write free: true if this is intended (line 11, column 34)',
    'models[3].prices.input: 0, so that prompts cost nothing (line 12, column 44)',
  ]);
});

interface Page {
  readonly data: readonly object[];
}

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
