/** `dragoman import new-api | one-api | sub2api | litellm`: the rehearsal of a switch, with every key calling the simulated providers. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type Sim, startSim } from '../../sim/index.ts';
import { formatNanos } from '../../src/core/index.ts';
import { checkLedger, readBalance } from '../../src/ledger/index.ts';
import { runHere } from '../support/cli.ts';
import type { CommandResult } from '../support/command.ts';
import { emptyDatabase, type TestDatabase } from '../support/database.ts';
import * as foreign from '../support/foreign-gateways.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { anthropic, openai } from '../support/sdk.ts';

let sim: Sim;
let gateway: TestGateway;
let dir: string;
const sources: TestDatabase[] = [];

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  dir = mkdtempSync(join(tmpdir(), 'dragoman-import-'));
});
after(async () => {
  await gateway.stop();
  await sim.close();
  for (const source of sources) await source.drop();
  rmSync(dir, { recursive: true, force: true });
});

const importFrom = (...args: string[]): Promise<CommandResult> =>
  runHere(['import', ...args], {
    env: {
      DATABASE_URL: gateway.database.url,
      DATA_DIR: dir,
      MASTER_KEY: `k1:${'test-master-key-'.repeat(3)}`,
      LITELLM_SALT_KEY: foreign.LITELLM_SALT,
      UPSTREAM_KEY: 'sk-upstream-yaml',
    },
  });

async function postgresOf(tables: Parameters<typeof foreign.writePostgres>[1]): Promise<string> {
  const source = await emptyDatabase();
  sources.push(source);
  await foreign.writePostgres(source.url, tables);
  return source.url;
}

const balanceOf = async (user: string): Promise<string> =>
  formatNanos((await readBalance(gateway.context.database.db, user)).available);

/** Everything that an import can write, to compare two moments. */
async function stateOf(): Promise<string> {
  const { db } = gateway.context.database;
  // Charges of the calls of other tests arrive at any time.
  const tables = ['groups', 'accounts', 'models', 'prices', 'users', 'keys', 'people', 'person_links', 'openings'];
  await sql`create or replace view openings as select * from entries where reference like 'import:%'`.execute(db);
  const rows = await Promise.all(
    tables.map(async (table) => (await sql`select * from ${sql.table(table)} order by 1`.execute(db)).rows),
  );
  return JSON.stringify(rows, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

const chat = (key: string, model: string) =>
  openai(gateway.url, key).chat.completions.create({ model, messages: [{ role: 'user', content: 'hello' }] });
const message = (key: string, model: string) =>
  anthropic(gateway.url, key).messages.create({
    model,
    max_tokens: 50,
    messages: [{ role: 'user', content: 'hello' }],
  });

/** A dry run changes nothing, `--apply` takes over, and a second one changes nothing. */
async function rehearse(...args: string[]): Promise<{ readonly table: readonly string[]; readonly stdout: string }> {
  const empty = await stateOf();
  const dry = await importFrom(...args);
  assert.equal(dry.code, 0, dry.stderr);
  assert.match(dry.stderr, /Nothing was changed; --apply takes this over\./);
  assert.equal(await stateOf(), empty);
  const applied = await importFrom(...args, '--apply');
  assert.equal(applied.code, 0, applied.stderr);
  const first = await stateOf();
  assert.notEqual(first, empty);
  const again = await importFrom(...args, '--apply');
  assert.match(again.stderr, /^0 objects and 0 people were created or changed here\.$/m, again.stderr);
  assert.equal(await stateOf(), first);
  await checkLedger(gateway.context.database.db);
  const table = dry.stdout.trim().split('\n');
  assert.deepEqual(applied.stdout.split('\n').slice(0, table.length), table, 'the dry run shows what happens');
  return { table, stdout: applied.stdout };
}

const assertRows = (table: readonly string[], expected: readonly RegExp[]): void => {
  for (const row of expected)
    assert.ok(
      table.some((line) => row.test(line)),
      `${row}\n${table.join('\n')}`,
    );
};

test('import new-api takes over channels, ratios, balances and keys, and names what is lost', async () => {
  const file = join(dir, 'new-api.db');
  foreign.writeSqlite(file, foreign.newApi(sim.url));
  const { table, stdout } = await rehearse('new-api', file);
  assertRows(table, [
    /^changes\taccount\tnew-api-1-1\topenai at http.*\/v1, priority -10, \d groups; 1 disabled credentials stay behind/,
    /^lost\taccount\tsubscription\tchannels of type 57 \(Codex\) have no counterpart/,
    /^comes\taccount\tnew-api-8\tplan at https:\/\/open\.bigmodel\.cn\/api\/coding\/paas\/v4,/,
    /^lost\tkey\tnone #9\tits list of models is empty/,
    /^lost\tother\tGroupGroupRatio\tfactors of users of svip /,
    /^lost\taccount\tswitched off\tit is disabled/,
    /^comes\tmodel\tdemo-responses\tinput 1\.25, output 10, cached_input 0\.125$/,
    /^comes\tmodel\tdemo-draw\tinput 0, output 0, per_request 0\.04$/,
    /^changes\tuser\tana\tbalance 12\.345678; 0\.5 of rewards/,
    /^comes\tuser\tdebtor\tbalance -2\.469134$/,
    /^changes\tuser\tnew-api-user-5\tbalance 2\.000002; was 张伟$/,
    /^comes\tkey\tcapped #2\tof ana, cap 5\.000002, until 2100-01-01/,
    /^lost\tkey\toff #5\t/,
    /^lost\tkey\tof a disabled user #6\t/,
    /^changes\tkey\tempty #8\tof ana, cap 0; it is used up/,
    /^lost\tother\tredemptions\t2 redemption codes/,
    /^changes\tperson\tana@example\.test\t/,
    /^lost\tperson\troot\tit has no e-mail address/,
  ]);
  assert.match(stdout, /^link\tana@example\.test\thttp\S+\/console\/link#\S+$/m);
  assert.deepEqual(await Promise.all(['root', 'ana', 'debtor', 'new-api-user-5'].map(balanceOf)), [
    '100',
    '12.345678',
    '-2.469134',
    '2.000002',
  ]);
  const key = (name: string) => `sk-${foreign.storedKey(name)}`;
  // One key reaches every model, whatever the API of its provider.
  for (const model of ['demo-responses', 'demo-alias', 'demo-messages', 'demo-generate'])
    assert.ok((await chat(key('all'), model)).choices[0]?.message.content, model);
  assert.ok((await message(key('auto'), 'demo-messages')).content.length > 0);
  await assert.rejects(chat(key('auto'), 'demo-staff'), { status: 404 }, 'its user may not choose that group');
  assert.ok((await chat(key('vip'), 'demo-responses')).choices.length > 0);
  assert.ok((await chat(key('capped'), 'demo-alias')).choices.length > 0);
  await assert.rejects(chat(key('vip'), 'demo-messages'), { status: 404 }, 'no channel of its group has it');
  await assert.rejects(chat(key('capped'), 'demo-messages'), /demo-messages/, 'it is not in its list');
  await assert.rejects(chat(key('empty'), 'demo-responses'), { status: 429 });
  for (const lost of ['off', 'gone', 'deleted', 'none'])
    await assert.rejects(chat(key(lost), 'demo-responses'), { status: 401 });
  const sent = sim.journal.requests.find(({ path }) => path === '/v1/responses' || path === '/v1/chat/completions');
  assert.match(String(sent?.headers.authorization), /sk-upstream-n[12]$/, 'the channel with the higher priority');
});

test('import one-api takes over keys with their models, networks and caps', async () => {
  const file = join(dir, 'one-api.db');
  foreign.writeSqlite(file, foreign.oneApi(sim.url));
  const { table } = await rehearse('one-api', file);
  assertRows(table, [
    /^comes\tuser\tben\tbalance 6\.666666$/,
    /^comes\tkey\tone #1\tof ben, cap 2$/,
    /^lost\taccount\txunfei\tchannels of type 18/,
    /^comes\taccount\tone-api-4\tcustom at https:\/\/custom\.example\.test\/v1,/,
    /^comes\taccount\tone-api-5\tgemini at https:\/\/generativelanguage\.googleapis\.com\/v1beta\/openai,/,
  ]);
  assert.equal(await balanceOf('ben'), '6.666666');
  const key = `sk-${foreign.storedKey('one')}`;
  assert.ok((await chat(key, 'demo-responses')).choices.length > 0);
  assert.ok((await message(key, 'demo-messages')).content.length > 0);
});

test('import sub2api takes over exact decimals, and names accounts that sign in with a subscription', async () => {
  const { table } = await rehearse('sub2api', await postgresOf(foreign.sub2api(sim.url)));
  assertRows(table, [
    /^comes\tgroup\tsub2api-1-1\tmessages, factor 1\.5; 1: api key$/,
    /^lost\taccount\tsigned in\tit signs in by oauth, /,
    /^lost\taccount\tpaused\tit is disabled/,
    /^changes\tkey\tused up #4\tof sub2api-user-1, cap 0; it is used up/,
    /^lost\tgroup\tplan\tplans have no counterpart/,
    /^changes\tuser\tsub2api-user-1\tbalance 123456789\.12345678; was cleo@example\.test$/,
    /^changes\tuser\tsub2api-user-2\tbalance -0\.00000001; /,
    /^changes\tkey\tmain #1\tof sub2api-user-1, cap 7\.5, until 2100-01-01T00:00:00\.000Z; the limit rate_limit_5h is lost/,
    /^lost\tkey\tshort #2\tits value has fewer than 20/,
    /^lost\tkey\tof a plan #3\tits groups \(2\) have no account/,
    /^lost\tother\tusage_logs\t2 records/,
  ]);
  assert.equal(await balanceOf('sub2api-user-1'), '123456789.12345678');
  assert.equal(await balanceOf('sub2api-user-2'), '-0.00000001');
  assert.ok((await message(foreign.SUB2API_KEY, 'claude-sonnet-4-5')).content.length > 0);
  const { db } = gateway.context.database;
  const { proxy } = await db
    .selectFrom('accounts')
    .select('proxy')
    .where('id', '=', 'sub2api-3')
    .executeTakeFirstOrThrow();
  assert.match(String(proxy), /proxy\.example\.test:3128/);
});

test('import litellm opens both forms of credentials, and its hashed keys work unchanged', async () => {
  const yaml = join(dir, 'litellm.yaml');
  writeFileSync(
    yaml,
    JSON.stringify({
      model_list: [
        {
          model_name: 'from-file',
          litellm_params: {
            model: 'openai/demo-responses',
            api_key: 'os.environ/UPSTREAM_KEY',
            api_base: `${sim.url}/v1`,
            input_cost_per_token: 0,
            output_cost_per_token: 0,
          },
        },
        { model_name: '*', litellm_params: { model: '*' } },
      ],
      router_settings: { fallbacks: [] },
    }),
  );
  const url = await postgresOf(foreign.litellm(sim.url));
  const { table } = await rehearse('litellm', url, '--config', yaml, '--balance', '1');
  assertRows(table, [
    /^comes\tmodel\thouse\tinput 1\.25, output 10$/,
    /^lost\tmodel\tsealed\tthe salt key does not open it/,
    /^lost\tmodel\t\*\ta pattern/,
    /^comes\tuser\tdora\tbalance 20\.1$/,
    /^comes\tuser\tlate\tbalance -2\.25$/,
    /^changes\tuser\tresearch\tbalance 99\.9; a team becomes a user/,
    /^changes\tuser\tlitellm-keys\tbalance 1; it has no budget/,
    /^comes\tkey\tdora #\w{8}\tof dora, cap 4\.5, until 2100-01-01/,
    /^changes\tkey\tweekly #\w{8}\tof dora; its budget of 7 per 7d is lost/,
    /^lost\tkey\tblocked #/,
    /^lost\tkey\tapart #\w{8}\tnone of its models is one of its team or user/,
    /^lost\tkey\tmanager #\w{8}\tit manages the source/,
    /^changes\tkey\tnarrow #\w{8}\tof narrow; it may make every call here, not only \/chat\/completions$/,
    /^changes\tkey\tboth #\w{8}\tof research; its budgets of single models are lost$/,
    /^lost\tother\tLiteLLM_OrganizationTable\t1 organizations/,
    /^lost\tother\trouter_settings\t/,
  ]);
  assert.deepEqual(await Promise.all(['dora', 'late', 'research', 'litellm-keys'].map(balanceOf)), [
    '20.1',
    '-2.25',
    '99.9',
    '1',
  ]);
  const { litellmKey } = foreign;
  for (const model of ['house', 'claude', 'from-file'])
    assert.ok((await chat(litellmKey('dora'), model)).choices.length > 0, model);
  for (const name of ['weekly', 'orphan']) assert.ok((await chat(litellmKey(name), 'house')).choices.length > 0, name);
  assert.ok((await message(litellmKey('team'), 'claude')).content.length > 0);
  await assert.rejects(chat(litellmKey('team'), 'house'), /house/, 'models of the team');
  assert.ok((await message(litellmKey('both'), 'claude')).content.length > 0);
  await assert.rejects(chat(litellmKey('both'), 'house'), /house/, 'both lists count');
  assert.ok((await chat(litellmKey('narrow'), 'house')).choices.length > 0);
  await assert.rejects(chat(litellmKey('narrow'), 'claude'), /claude/, 'models of the user');
  await assert.rejects(chat(litellmKey('manager'), 'house'), { status: 401 });
  await assert.rejects(chat(litellmKey('blocked'), 'house'), { status: 401 });
});

test('who knows only the hash of a key cannot use it', async () => {
  const { db } = gateway.context.database;
  const { hint } = await db
    .selectFrom('keys')
    .select('hint')
    .where('name', 'like', 'dora #%')
    .executeTakeFirstOrThrow();
  const [hash] = foreign
    .litellm('')
    .flatMap(([, , ...rows]) =>
      rows.flatMap(([token]) => (String(token).startsWith(hint.slice(7)) ? [String(token)] : [])),
    );
  for (const guess of [hash, `sha256:${hash}`, `sha256${hash}`])
    await assert.rejects(chat(String(guess), 'house'), { status: 401 });
});

test('a crash in mid-import leaves nothing, and the next import takes everything over', async () => {
  const { db } = gateway.context.database;
  const file = join(dir, 'new-api.db');
  await sql`create function crash() returns trigger language plpgsql as $$
    begin perform pg_terminate_backend(pg_backend_pid()); return new; end $$`.execute(db);
  await sql`create trigger crash before insert on people for each row when (new.email like 'wei%') execute function crash()`.execute(
    db,
  );
  await sql`delete from people`.execute(db);
  const before = await stateOf();
  const crashed = await importFrom('new-api', file, '--as', 'second', '--apply');
  assert.notEqual(crashed.code, 0);
  assert.equal(await stateOf(), before);
  await sql`drop trigger crash on people`.execute(db);
  const keyless = join(dir, 'second.db');
  foreign.writeSqlite(
    keyless,
    foreign.newApi(sim.url).filter(([name]) => name !== 'tokens'),
  );
  const { stdout } = await importFrom('new-api', keyless, '--as', 'second');
  assertRows(stdout.split('\n'), [/^changes\tuser\tsecond-user-2\tbalance 12\.345678; was ana;/]);
  // The keys exist under their first names: two installations cannot have the same value.
  const taken = await importFrom('new-api', file, '--as', 'second', '--apply');
  assert.notEqual(taken.code, 0);
  assert.match(taken.stderr, /found the value of another key, expected a unique value/);
  assert.equal(await stateOf(), before);
  const again = await importFrom('new-api', file, '--apply');
  assert.match(again.stderr, /^0 objects and 3 people were created/m, again.stderr);
});

test('a balance that moved in the source is not booked again, and the report says so', async () => {
  const file = join(dir, 'moved.db');
  const tables = foreign
    .oneApi(sim.url)
    .map(([name, columns, ...rows]) =>
      name === 'users'
        ? ([name, columns, ...rows.map((row) => row.with(5, 1_000_000))] as const)
        : ([name, columns, ...rows] as const),
    );
  foreign.writeSqlite(file, tables);
  const { stdout } = await importFrom('one-api', file, '--apply');
  assert.match(
    stdout,
    /^changes\tuser\tben\tthe source has 2 now; 6\.666666 were booked at an earlier import and stay$/m,
  );
});

test('import refuses what it cannot read with a sentence', async () => {
  const cases: readonly (readonly [string[], RegExp])[] = [
    [['new-api', join(dir, 'nothing.db')], /^Nothing was imported from new-api: there is no file /m],
    [['new-api', 'mysql://root@localhost/new-api'], /MySQL is not read directly/],
    [['new-api', join(dir, 'litellm.yaml')], /is not a SQLite database/],
    [['one-api', join(dir, 'one-api.db'), '--as', 'Not A Name'], /--as: found "Not A Name"/],
  ];
  for (const [args, expected] of cases) {
    const { code, stderr } = await importFrom(...args);
    assert.equal(code, 1, stderr);
    assert.match(stderr, expected);
  }
});
