/** `dragoman prices import` and `prices list`, as an operator runs them. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type Database, openDatabase } from '../../src/platform/db/index.ts';
import { runHere } from '../support/cli.ts';
import type { CommandResult } from '../support/command.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { longTest } from '../support/long-test.ts';

let own: TestDatabase;
let database: Database;
let dir: string;

before(async () => {
  own = await testDatabase();
  database = openDatabase(own.url, 2);
  dir = mkdtempSync(join(tmpdir(), 'dragoman-prices-'));
  await apply({
    groups: [
      { id: 'oa', style: 'responses' },
      { id: 'cl', style: 'messages' },
      { id: 'ge', style: 'generate-content' },
      { id: 'mixed', style: 'responses' },
    ],
    accounts: [
      { id: 'm1', group: 'mixed', base_url: 'https://api.openai.com/v1', api_key: 'k' },
      { id: 'm2', group: 'mixed', base_url: 'https://api.x.ai/v1', api_key: 'k' },
      { id: 'o1', group: 'oa', base_url: 'http://127.0.0.1:9/v1', api_key: 'k' },
    ],
    models: [
      { id: 'gpt-4o-mini', groups: ['oa'] },
      { id: 'house-model', groups: ['oa'], upstream: 'gpt-4o' },
      { id: 'claude-*', groups: ['cl'] },
      { id: 'claude-3-opus*', groups: ['cl'] },
      { id: 'claude-sonnet-4-5', groups: ['cl'] },
      { id: 'unknown-model', groups: ['cl'] },
      { id: 'gemini-3.6-flash', groups: ['ge'] },
      { id: 'gpt-4.1', groups: ['mixed'] },
    ],
  });
});
after(async () => {
  await database.close();
  rmSync(dir, { recursive: true, force: true });
  await own.drop();
});

const dragoman = (...args: string[]): Promise<CommandResult> =>
  runHere(args, {
    env: { DATABASE_URL: own.url, DATA_DIR: dir, MASTER_KEY: `k1:${'test-master-key-'.repeat(3)}` },
  });
const importPrices = (...args: string[]): Promise<CommandResult> => dragoman('prices', 'import', ...args);

async function apply(setup: object): Promise<void> {
  const file = join(dir, 'setup.json');
  writeFileSync(file, JSON.stringify(setup));
  const { code, stderr } = await dragoman('apply', file);
  assert.equal(code, 0, stderr);
}

const prices = () => database.db.selectFrom('prices').selectAll().orderBy('id').execute();
const pricesOf = async (model: string) =>
  (await prices()).filter((row) => row.model_pattern === model).map(({ rates }) => rates as Record<string, string>);

test('prices import shows the changes and applies nothing without --yes', async () => {
  for (const args of [[], ['--dry-run', '--yes']]) {
    const { code, stdout, stderr } = await importPrices(...args);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^gpt-4o-mini of oa, from openai\/gpt-4o-mini$/m);
    assert.match(stdout, /^ {2}input {12}none -> 0\.15$/m);
    assert.match(stdout, /^house-model of oa, from openai\/gpt-4o$/m, 'by the upstream name');
    assert.match(stderr, /^Skipped: claude-\* of cl: it matches \d+ models of anthropic with different prices/m);
    assert.match(stderr, /^Skipped: unknown-model of cl: the price list of anthropic has no such model\.$/m);
    assert.match(stdout, /^ {2}input above 200000 {2}none -> 6$/m, 'a price by the length of the input');
    assert.match(stderr, /^Skipped: gpt-4\.1 of mixed: accounts of mixed belong to openai and x-ai; choose with/m);
    if (args.length === 0) assert.match(stderr, /Nothing was changed; use --yes to apply this\./);
  }
  assert.deepEqual(await prices(), []);
});

test('prices import --yes sets price and provider cost of each model, and a second run changes nothing', async () => {
  const { code, stderr } = await importPrices('--yes', '--multiplier', '1.5');
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^\d+ prices applied/m);
  const [mini] = (await prices()).filter((row) => row.model_pattern === 'gpt-4o-mini');
  assert.deepEqual(
    [mini?.rates, mini?.cost].map((rates) => (rates as Record<string, string>).input),
    ['0.225', '0.15'],
  );
  assert.deepEqual(
    (await pricesOf('gemini-3.6-flash')).map(({ input }) => input),
    ['1.125', '2.25'],
    'the announced price too',
  );
  assert.equal((await pricesOf('claude-3-opus*')).length, 1, 'all models of the pattern have one price');
  assert.deepEqual(await pricesOf('claude-*'), []);
  const before = await prices();
  const again = await importPrices('--yes', '--multiplier', '1.5');
  assert.equal(again.code, 0);
  assert.equal(again.stdout, '');
  assert.match(again.stderr, /^0 to change/m);
  assert.deepEqual(await prices(), before, 'nothing was written');
});

test('prices import shows the percentage of a change and keeps the old row', async () => {
  const [old] = (await prices()).filter((row) => row.model_pattern === 'gpt-4o-mini');
  const { code, stdout } = await importPrices('--yes', '--model', 'gpt-4o-mini', '--multiplier', '2');
  assert.equal(code, 0);
  assert.match(stdout, /^ {2}input {12}0\.225 -> 0\.3 {2}\+33\.3 %$/m);
  const rows = (await prices()).filter((row) => row.model_pattern === 'gpt-4o-mini');
  assert.equal(rows.length, 2);
  assert.deepEqual(rows[0], old);
  assert.ok((rows[1]?.valid_from.getTime() ?? 0) > (old?.valid_from.getTime() ?? 0));
});

longTest(
  'prices import needs --force for a change above tenfold or to zero, and applies nothing without it',
  async () => {
    await apply({
      models: [
        { id: 'gpt-4o-mini', groups: ['oa'], prices: { input: '0.001', output: '0.6', reasoning: '5' } },
        { id: 'house-model', groups: ['oa'], upstream: 'gpt-4o', prices: { input: '2', output: '10' } },
      ],
    });
    const before = await prices();
    const rejected = await importPrices('--yes', '--group', 'oa');
    assert.equal(rejected.code, 1);
    assert.match(rejected.stdout, /^ {2}input {12}0\.001 -> 0\.15 {2}\+14900\.0 % {2}!$/m);
    assert.match(rejected.stdout, /^ {2}reasoning {8}5 -> none {2}!$/m);
    assert.match(
      rejected.stderr,
      /2 rates marked ! would change by more than ten times or disappear; nothing was changed/,
    );
    assert.deepEqual(await prices(), before);
    const free = await importPrices('--yes', '--group', 'oa', '--multiplier', '0');
    assert.equal(free.code, 1);
    assert.deepEqual(await prices(), before);
    const forced = await importPrices('--yes', '--group', 'oa', '--force');
    assert.equal(forced.code, 0, forced.stderr);
    assert.deepEqual((await pricesOf('gpt-4o-mini')).at(-1)?.input, '0.15');
  },
);

longTest('prices import takes --provider and --list, and keeps prices that the list does not have', async () => {
  await apply({ models: [{ id: 'gpt-4.1', groups: ['mixed'], prices: { per_image: { '*': '0.04' } } }] });
  assert.equal((await importPrices('--yes', '--group', 'mixed', '--provider', 'openai')).code, 0);
  const rates = (await pricesOf('gpt-4.1')).at(-1);
  assert.deepEqual([rates?.input, rates?.per_image], ['2', { '*': '0.04' }]);
  const list = join(dir, 'list.json');
  const stepped = {
    input_cost_per_token: 2e-6,
    input_cost_per_token_above_200k_tokens: 4e-6,
    output_cost_per_token: 8e-6,
  };
  writeFileSync(list, JSON.stringify({ 'unknown-model': stepped }));
  const own = await importPrices('--yes', '--model', 'unknown-model', '--multiplier', '1.5', '--list', list);
  assert.equal(own.code, 0, own.stderr);
  assert.deepEqual(await pricesOf('unknown-model'), [
    { input: '3', output: '12', steps: [{ above: 200_000, input: '6' }] },
  ]);
  const limits = { max_input_tokens: 300_000, max_output_tokens: 64_000 };
  writeFileSync(list, JSON.stringify({ 'unknown-model': { ...stepped, ...limits } }));
  await apply({ models: [{ id: 'unknown-model', groups: ['cl'], context: 250_000 }] });
  const shown = await importPrices('--dry-run', '--model', 'unknown-model', '--multiplier', '1.5', '--list', list);
  assert.match(shown.stdout, /^unknown-model of cl: context 250000, max_output 64000$/m);
  assert.equal((await importPrices('--yes', '--model', 'unknown-model', '--list', list)).code, 0);
  const { db } = database;
  const model = db.selectFrom('models').select(['context', 'max_output']).where('pattern', '=', 'unknown-model');
  assert.deepEqual(await model.executeTakeFirst(), { context: 250_000, max_output: 64_000 }, "the operator's stay");
  writeFileSync(list, '[');
  const broken = await importPrices('--yes', '--list', list);
  assert.equal(broken.code, 1);
  assert.match(broken.stderr, /^--list: .*list\.json is not a price list in the form of LiteLLM/m);
});

test('prices import reports invalid options in a short message', async () => {
  const inputs = [
    [['--group', 'none'], /There is no provider group "none" with models\. There are: oa, cl, ge, mixed\./],
    [['--model', 'none'], /The catalog has no model "none"; "dragoman prices list" shows what it has\./],
    [['--provider', 'none'], /The price list has no provider "none"\. It has: anthropic/],
    [['--multiplier', 'x'], /--multiplier: found "x", expected a decimal factor/],
  ] as const;
  await Promise.all(
    inputs.map(async ([args, message]) => {
      const { code, stderr } = await importPrices('--yes', ...args);
      assert.equal(code, 1);
      assert.match(stderr, message);
      assert.doesNotMatch(stderr, /Unexpected error/);
    }),
  );
});

test('prices list shows current, announced and missing prices', async () => {
  const { code, stdout } = await dragoman('prices', 'list');
  assert.equal(code, 0);
  const lines = stdout.trimEnd().split('\n');
  assert.equal(lines.filter((line) => line.startsWith('ge\tgemini-3.6-flash\t')).length, 2);
  assert.match(stdout, /^ge\tgemini-3\.6-flash\t2027-01-01T00:00:00\.000Z\t.*input=2\.25/m);
  assert.ok(lines.includes('cl\tclaude-*\tno price\trejected'));
  assert.equal(lines.filter((line) => line.startsWith('oa\tgpt-4o-mini\t')).length, 1, 'old prices are not shown');
});
