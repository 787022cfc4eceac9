/** The configuration file: validation, idempotent application, pruning and prices. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { markKeyRevoked } from '../../src/access/keys/index.ts';
import { rotateKey } from '../../src/api/admin/index.ts';
import { loadCatalog, priceAt } from '../../src/catalog/index.ts';
import { type Applied, applySetup, findIdleFallbacks, parseSetup, SetupError } from '../../src/catalog/setup/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';

let gateway: TestGateway;

before(async () => {
  gateway = await startGateway();
});
after(() => gateway.stop());

const db = () => gateway.context.database.db;
const apply = (file: object | string, options: { prune?: boolean; dryRun?: boolean } = {}): Promise<Applied> =>
  applySetup(db(), parseSetup(typeof file === 'string' ? file : JSON.stringify(file)), {
    secrets: gateway.context.secrets,
    ...options,
  });

/** The error lines for an invalid file; fails when the file is accepted. */
async function setupErrors(file: object | string): Promise<readonly string[]> {
  try {
    await apply(file);
  } catch (error) {
    assert.ok(error instanceof SetupError, `expected a SetupError, got ${String(error)}`);
    return error.lines;
  }
  return assert.fail('the file was accepted');
}

/** Every row of every table, to show that nothing changed. Without heartbeats, which time changes. */
async function dumpTables(): Promise<string> {
  const { rows: tables } = await sql<{ name: string }>`
    select table_name as name from information_schema.tables where table_schema = 'public' and table_name <> 'replicas' order by 1`.execute(
    db(),
  );
  const texts = tables.map(async ({ name }) => {
    const { rows } = await sql<{ row: string }>`
      select t::text as row from ${sql.table(name)} t order by 1`.execute(db());
    return `${name}\n${rows.map(({ row }) => row).join('\n')}`;
  });
  return (await Promise.all(texts)).join('\n\n');
}

const revisions = async (): Promise<string> =>
  JSON.stringify(
    await db()
      .selectFrom('revisions')
      .select(['name', sql<string>`revision::text`.as('at')])
      .execute(),
  );

const YAML = `
groups:
  - { id: yaml, style: messages, name: From YAML, multiplier: "1.5" }
accounts:
  - id: yaml-1
    group: yaml
    base_url: https://upstream.test
    api_key: "yaml-upstream-credential"
    weight: 3
models:
  - id: yaml-*
    groups: [yaml]
    upstream: real-name
    prices: { input: "3", output: "15.25" }
users:
  - { id: yan, email: yan@example.test, balance: "12.5" }
keys:
  - { user: yan, group: yaml, rpm: 60, models: ["yaml-*"], addresses: [10.0.0.0/8], store: false }
`;

test('setup file applies alike as YAML and as JSON', async () => {
  const { changes, keys } = await apply(YAML);
  assert.deepEqual(
    changes.map(({ what, object }) => `${object} ${what}`),
    [
      'group yaml created',
      'account yaml-1 created',
      'model yaml-* of yaml created',
      'user yan created',
      'key default of yan in yaml created',
    ],
  );
  assert.match(keys[0]?.token ?? '', /^dg-[0-9A-Za-z]{49}$/);
  const group = await db().selectFrom('groups').selectAll().where('id', '=', 'yaml').executeTakeFirstOrThrow();
  assert.deepEqual([group.style, group.name, group.multiplier_ppm], ['messages', 'From YAML', 1_500_000n]);
  const key = await db().selectFrom('keys').selectAll().where('user_id', '=', 'yan').executeTakeFirstOrThrow();
  assert.deepEqual(key.limits, { rpm: 60 });
  assert.deepEqual([key.allowed_models, key.allowed_addresses, key.store], [['yaml-*'], ['10.0.0.0/8'], false]);
  const json = JSON.stringify(parseSetup(YAML));
  assert.deepEqual((await apply(json)).changes, []);
});

test('an empty setup file changes nothing', async () => {
  for (const text of ['', '{}', 'groups: []', '# only a comment\n']) assert.deepEqual((await apply(text)).changes, []);
});

test('setup rejects an unknown field by its path', async () => {
  assert.deepEqual(await setupErrors({ groups: [{ id: 'a', style: 'messages', colour: 'red' }] }), [
    'groups[0].colour: no such field',
  ]);
  assert.deepEqual(await setupErrors({ gruops: [], accounts: [] }), ['gruops: no such field']);
  const nested = { id: 'm', groups: ['yaml'], prices: { output: '1', per_token: '2' } };
  assert.deepEqual(await setupErrors({ models: [nested] }), ['models[0].prices.per_token: no such field']);
});

for (const [about, file, line] of [
  [
    'a number instead of a string',
    { groups: [{ id: 7, style: 'messages' }] },
    'groups[0].id: found 7, expected text; put it in quotes',
  ],
  [
    'an unknown style',
    { groups: [{ id: 'a', style: 'chat' }] },
    'groups[0].style: found "chat", expected one of responses, messages, generate-content, video',
  ],
  ['a missing field', { groups: [{ style: 'messages' }] }, 'groups[0].id: missing, expected text'],
  [
    'money without quotes',
    { users: [{ id: 'u' }, { id: 'v', balance: 12.5 }] },
    'users[1].balance: found 12.5, expected text; put it in quotes',
  ],
  [
    'an invalid amount',
    { users: [{ id: 'u', balance: '1,50' }] },
    'users[0].balance: found "1,50", expected a decimal amount in quotes, for example "1.25"',
  ],
  [
    'an amount out of range',
    { users: [{ id: 'u', balance: '99999999999' }] },
    'users[0].balance: found "99999999999", expected a decimal amount in quotes, for example "1.25"',
  ],
  [
    'an invalid address',
    { keys: [{ user: 'yan', group: 'yaml', name: 'n', addresses: ['10.0.0.0/8', 'home'] }] },
    'keys[0].addresses[1]: found "home", expected an IP address or a network such as 10.0.0.0/8',
  ],
  [
    'a price that is neither an amount nor a table',
    { models: [{ id: 'v', groups: ['yaml'], prices: { video: 5 } }] },
    'models[0].prices.video: found 5, expected a decimal amount in quotes, or one for each resolution',
  ],
  [
    'an invalid upstream URL',
    { accounts: [{ id: 'a', group: 'yaml', base_url: 'ftp://x', api_key: 'k' }] },
    'accounts[0].base_url: found "ftp://x", expected an http:// or https:// URL',
  ],
  [
    'a variant for a style without variants',
    { groups: [{ id: 'a', style: 'messages', variant: 'A' }] },
    'groups[0].variant: found "A", expected A, EP or HC for style video, and for no other style',
  ],
  ['a list instead of the file object', [], 'the file: found a list, expected an object'],
] as const) {
  test(`setup rejects ${about} with path, found and expected value`, async () => {
    assert.deepEqual(await setupErrors(file), [line]);
  });
}

test('setup rejects a number that the database cannot hold by its path', async () => {
  const account = { id: 'a', group: 'yaml', base_url: 'https://x.test', api_key: 'k', max_concurrency: 2 ** 40 };
  assert.match(
    (await setupErrors({ accounts: [account] })).join(),
    /^accounts\[0\]\.max_concurrency: found 1099511627776, expected at most 2147483647$/,
  );
  assert.match(
    (await setupErrors({ models: [{ id: 'm', groups: ['yaml'], context: 2 ** 31 }] })).join(),
    /^models\[0\]\.context: found 2147483648, expected at most 2147483647$/,
  );
});

test('setup rejects invalid YAML with the line number', async () => {
  for (const text of ['groups: [', 'groups:\n\t- id: a', 'a: 1\na: 2', 'users: *unknown', '--- {}\n--- {}'])
    assert.ok((await setupErrors(text)).every((line) => line.length > 5 && !line.includes('\n')));
  assert.match((await setupErrors('groups:\n  - id: a\n    id: b')).join(), /line 3/);
});

test('setup reports all errors of a file at once', async () => {
  const lines = await setupErrors({
    groups: [{ id: 'A B', style: 'messages' }],
    users: [{ id: 'u', email: 'unknown' }],
    keys: [{ user: 5, group: 'yaml' }],
  });
  assert.deepEqual(
    lines.map((line) => line.split(':')[0]),
    ['groups[0].id', 'users[0].email', 'keys[0].user'],
  );
});

test('setup rejects duplicates by their path', async () => {
  const group = { id: 'twice', style: 'messages' };
  const account = { id: 'acc', group: 'yaml', base_url: 'https://x.test', api_key: 'one' };
  const value = 'one-value-for-two-keys-00';
  const lines = await setupErrors({
    groups: [group, group],
    accounts: [account, account],
    users: [{ id: 'u' }, { id: 'u' }],
    models: [
      { id: 'm', groups: ['yaml', 'twice'] },
      { id: 'n', groups: ['yaml'] },
      { id: 'm', groups: ['twice'] },
    ],
    keys: [
      { user: 'u', group: 'yaml' },
      { user: 'u', group: 'yaml', name: 'default' },
      { user: 'u', group: 'yaml', name: 'b', key: value },
      { user: 'u', group: 'yaml', name: 'c', key: value },
    ],
  });
  assert.deepEqual(lines, [
    'groups[1]: found "twice" a second time, expected it once',
    'accounts[1]: found "acc" a second time, expected it once',
    'users[1]: found "u" a second time, expected it once',
    'keys[1]: found "u/yaml/default" a second time, expected it once',
    'keys[3].key: found the same key value a second time, expected it once',
    'models[2]: found "m in group twice" a second time, expected it once',
  ]);
});

test('setup rejects references to missing objects or objects of the wrong kind', async () => {
  const lines = await setupErrors({
    groups: [{ id: 'film', style: 'video', variant: 'A' }],
    accounts: [
      { id: 'a', group: 'nowhere', base_url: 'https://x.test', api_key: 'k' },
      { id: 'b', group: 'yaml', base_url: 'https://x.test', api_key: 'k', features: ['embeddings'] },
    ],
    models: [{ id: 'm', groups: ['yaml', 'nowhere'] }],
    keys: [
      { user: 'unknown', group: 'film' },
      { user: 'yan', group: 'yaml', name: 'v', video_groups: ['film', 'yaml'] },
    ],
    characters: [{ id: 'c', group: 'yaml', models: ['m'], upstream_asset: 'x', name: 'C' }],
  });
  assert.deepEqual(lines, [
    'accounts[0].group: found "nowhere", expected a group of the file or the database',
    'accounts[1].features: found "embeddings", expected some of messages, count, objects, batches',
    'models[0].groups[1]: found "nowhere", expected a group of the file or the database',
    'characters[0].group: found "yaml", expected a video group',
    'keys[0].group: found "film", expected a provider group',
    'keys[0].user: found "unknown", expected a user of the file or the database',
    'keys[1].video_groups[1]: found "yaml", expected a video group',
  ]);
});

const FALLBACK_FILE = `
groups:
  - { id: near, style: messages }
  - { id: far, style: responses }
  - { id: film, style: video, variant: A }
models:
  - id: m
    groups: [near]
    free: true
    context: 200000
    fallback: [LINES]
  - { id: "far-*", groups: [far], free: true, context: 100000 }
`;

test('setup rejects fallback lines that cannot take a call, by their place in the file', async () => {
  const errors = (lines: string) => setupErrors(FALLBACK_FILE.replace('LINES', lines));
  const at = (n: number, text: string, expected: string): string =>
    `models[0].fallback[${n}]: found "${text}", expected ${expected}`;
  const lines = ['far/far-1', 'nowhere/x', 'film/x', 'near/x'];
  assert.deepEqual(
    (await errors(lines.join(', '))).map((line) => line.replace(/ \(line 11, column \d+\)$/, ' (there)')),
    [
      `${at(1, 'nowhere/x', 'a provider group of the file or the database')} (there)`,
      `${at(2, 'film/x', 'a provider group of the file or the database')} (there)`,
      `${at(3, 'near/x', 'a line of another group')} (there)`,
    ],
  );
  assert.match((await errors('far/other, far'))[0] ?? '', /expected a model of group far/);
  assert.match((await errors('far/far-1, far/far-1'))[0] ?? '', /fallback\[1\]: found "far\/far-1", expected it once/);
  assert.match((await errors('"far/*"'))[0] ?? '', /expected a group and a model such as openai\/gpt-5/);
  assert.match((await errors('far/a, far/b, far/c, far/d, far/e'))[0] ?? '', /expected at most 4 entries/);
});

test('setup accepts lines that fall back to each other, warns of what differs, and keeps a named line from being pruned', async () => {
  const file = FALLBACK_FILE.replace('LINES', 'far/far-1').replace(
    'context: 100000',
    'context: 100000, fallback: [near/m]',
  );
  const { warnings } = await apply(file);
  assert.deepEqual(
    warnings.map((line) => line.replace(/ \(line.*/, '')),
    [
      'models[0].fallback[0]: "far/far-1" has the style responses, so that requests are converted there; signatures and hosted tools of messages are left out',
      'models[0].fallback[0]: "far/far-1" has a smaller context than "m", so that it cannot take every call',
      'models[1].fallback[0]: "near/m" has the style messages, so that requests are converted there; signatures and hosted tools of responses are left out',
    ],
  );
  assert.deepEqual(
    (await findIdleFallbacks(db(), Date.now())).filter((line) => line.startsWith('far/')),
    ['far/far-1, the fallback of m of near, cannot serve: group far has no account'],
  );
  const pruned = { groups: [{ id: 'near', style: 'messages' }], models: [{ id: 'm', groups: ['near'] }] };
  await assert.rejects(apply(pruned, { prune: true }), /fallback\[0\]: found "far\/far-1", expected a provider group/);
});

test('setup rejects capabilities that a model cannot have, and prices that a video model cannot have', async () => {
  const groups = [
    { id: 'film-a', style: 'video', variant: 'A' },
    { id: 'film-ep', style: 'video', variant: 'EP' },
  ];
  const model = (capabilities: object, more: object = {}) => ({
    groups,
    models: [{ id: 'film', groups: ['film-a', 'film-ep'], capabilities, ...more }],
  });
  assert.deepEqual(
    await setupErrors(
      model({ resolutions: ['720'], ratios: [], cancel_queued: 'yes', default_duration: 16, colour: 'red' }),
    ),
    [
      'models[0].capabilities.resolutions[0]: found "720", expected one of 360p, 480p, 512p, 540p, 720p, 768p, 1080p, 1440p, 2k, 4k',
      'models[0].capabilities.ratios: found a list, expected at least 1 entries',
      'models[0].capabilities.cancel_queued: found "yes", expected true or false',
      'models[0].capabilities.colour: no such field',
    ],
  );
  const bounds = ['at most 15', 'at most 15'].map(
    (bound) => `models[0].capabilities.default_duration: found 16, expected ${bound}`,
  );
  assert.deepEqual(await setupErrors(model({ default_duration: 16 })), bounds);
  assert.deepEqual(await setupErrors(model({ thinking: 'none' })), [
    'models[0].capabilities.thinking: no such field of video models',
  ]);
  const text = (capabilities: object) => ({
    groups: [{ id: 'text', style: 'responses' }],
    models: [{ id: 'painter', groups: ['text'], capabilities }],
  });
  assert.deepEqual(
    await setupErrors(
      text({ imageQualities: ['best/one'], maxImages: 0, imageInput: 'yes', efforts: ['Huge!'], seed: 1 }),
    ),
    [
      'models[0].capabilities.efforts[0]: found "Huge!", expected a word of at most 32 small letters',
      'models[0].capabilities.imageInput: found "yes", expected true or false',
      'models[0].capabilities.imageQualities[0]: found "best/one", expected a word of at most 32 characters',
      'models[0].capabilities.maxImages: found 0, expected at least 1',
      'models[0].capabilities.seed: no such field',
    ],
  );
  assert.deepEqual(await setupErrors(text({ resolutions: ['720p'] })), [
    'models[0].capabilities.resolutions: no such field of text and image models',
  ]);
  assert.deepEqual(await setupErrors(model({ resolutions: ['720p', '4k'] })), [
    'models[0].capabilities.resolutions[1]: found "4k", expected one of 480p, 720p, 1080p, which variant A has',
  ]);
  assert.deepEqual(
    await setupErrors(model({}, { prices: { video: { '720p': '7', '900p': '8' }, video_with_video_input: {} } })),
    [
      'models[0].prices.video.900p: no such field',
      'models[0].prices.video_with_video_input: found an object, expected an amount for at least one of 360p, 480p, 512p, 540p, 720p, 768p, 1080p, 1440p, 2k, 4k',
    ],
  );
  assert.deepEqual(
    await setupErrors({ models: [{ id: 'm', groups: ['nowhere'], capabilities: { thinking: 'none' } }] }),
    ['models[0].groups[0]: found "nowhere", expected a group of the file or the database'],
  );
});

test('setup takes a sheet of a video model and rejects what no sheet can have, with its line', async () => {
  const file = (capabilities: string) =>
    [
      'groups: [{ id: film-s, style: video, variant: A }]',
      'models:',
      '- id: film-sheet',
      '  groups: [film-s]',
      `  capabilities:\n    ${capabilities}`,
    ].join('\n');
  const rejected = async (capabilities: string) =>
    (await setupErrors(file(capabilities))).map((line) => line.replace('models[0].capabilities.', ''));
  for (const [capabilities, ...expected] of [
    ['extends: veo-9', /^extends: found "veo-9", expected one of A, EP, HC, seedance-2\.5.* \(line 6, column 5\)$/],
    ['members: { Prompt: [a] }', /^members.*\(line 6/],
    [
      'members: { callback_url: true }',
      /^members\.callback_url: found true, expected a member in lower case, other than .*callback_url.*\(line 6/,
    ],
    ['durations: { min: 9, max: 4 }', /^durations.*\(line 6/],
    [
      'sizes: { 768p: { "16:9": wide } }',
      /^sizes\.768p\.16:9: found "wide", expected a size such as 1366x768 \(line 6/,
    ],
    ['references: { sound: 1 }', /^references.*\(line 6/],
    [
      'extends: seedance-2.5\n    resolutions: [4k]',
      /^resolutions\[0\]: found "4k", expected one of 480p, 720p, 1080p, which the sheet seedance-2\.5 has \(line 7/,
    ],
    ['default_duration: 30', /^default_duration: found 30, expected at most 15 \(line 6/],
  ] as const) {
    const lines = await rejected(capabilities);
    assert.equal(lines.length, expected.length, lines.join('\n'));
    assert.match(lines[0] ?? '', expected[0], capabilities);
  }
  const sheet = {
    extends: 'seedance-2.5',
    unit: 'seconds',
    durations: { min: 2, max: 60 },
    default_duration: 30,
    sizes: { '768p': { '16:9': '1366x768' } },
    resolutions: ['768p'],
    references: { reference_image: 3 },
    members: { output_format: ['mp4', 'mov', 'webm'], seed: { min: 0, max: 9 }, draft: false },
    conditions: [{ when: { output_format: 'webm' }, only: { generate_audio: [false] } }],
  };
  await apply({
    groups: [{ id: 'film-s', style: 'video', variant: 'A' }],
    models: [{ id: 'film-sheet', groups: ['film-s'], capabilities: sheet, prices: { video: { '768p': '1' } } }],
  });
  const stored = await db().selectFrom('models').select('capabilities').where('pattern', '=', 'film-sheet').execute();
  assert.deepEqual(stored, [{ capabilities: sheet }]);
});

test('setup rejects unknown tiers, tiers that are neither rates nor a multiplier, and free models with prices', async () => {
  const model = (more: object) => ({ models: [{ id: 'm', groups: ['yaml'], ...more }] });
  const tiers = (given: object) => model({ prices: { input: '1', output: '2', tiers: given } });
  const [unknown = ''] = await setupErrors(tiers({ turbo: { multiplier: '2' } }));
  assert.match(unknown, /^models\[0\]\.prices\.tiers/);
  const only = model({ prices: { tiers: { flex: { multiplier: '2' } } } });
  assert.match((await setupErrors(only))[0] ?? '', /prices\.output: missing, expected a price of output tokens/);
  for (const tier of [{}, { multiplier: '2', input: '1' }])
    assert.match(
      (await setupErrors(tiers({ flex: tier })))[0] ?? '',
      /tiers\.flex: .*rates, or a multiplier of all rates/,
    );
  assert.match(
    (await setupErrors(model({ free: true, prices: { input: '1', output: '2' } })))[0] ?? '',
    /free: .*without prices/,
  );
});

test('setup rejects a price without output, of a model and of a tier, and steps that are not in order', async () => {
  const pricesErrors = (prices: object) => setupErrors({ models: [{ id: 'm', groups: ['yaml'], prices }] });
  const missing = (path: string) => [
    `models[0].${path}: missing, expected a price of output tokens; "0" gives them away`,
  ];
  assert.deepEqual(await pricesErrors({ input: '1' }), missing('prices.output'));
  const embedding = {
    groups: ['yaml'],
    prices: { input: '1', tiers: { batch: { input: '0.5' } } },
    cost: { input: '1' },
  };
  assert.equal(
    parseSetup(JSON.stringify({ models: [{ id: 'text-embedding-3-small', ...embedding }] })).models.length,
    1,
  );
  assert.deepEqual(
    await setupErrors({ models: [{ id: 'm', groups: ['yaml'], cost: { input: '1' } }] }),
    missing('cost.output'),
  );
  const flex = { input: '1', output: '2', tiers: { flex: { input: '0.5' } } };
  assert.deepEqual(await pricesErrors(flex), missing('prices.tiers.flex.output'));
  const steps = (...above: number[]) =>
    pricesErrors({ output: '2', steps: above.map((tokens) => ({ above: tokens, output: '3' })) });
  assert.match((await steps(200, 200))[0] ?? '', /prices\.steps: .*in the order of `above`/);
  assert.match((await steps())[0] ?? '', /prices\.steps: .*at least 1 entries/);
  assert.match(
    (await pricesErrors({ output: '2', steps: [{ above: 5 }] }))[0] ?? '',
    /steps\[0\]: .*rates beside `above`/,
  );
  for (const prices of [{ output: '0' }, { image_output: '1' }, { per_image: { '*': '1' } }])
    assert.deepEqual(
      await setupErrors({ models: [{ id: 'm', groups: ['none'], prices }] }).then((lines) =>
        lines.filter((line) => line.includes('prices')),
      ),
      [],
    );
});

test("setup rejects a change of a group's style", async () => {
  assert.deepEqual(await setupErrors({ groups: [{ id: 'yaml', style: 'responses' }] }), [
    'groups[0].style: found "responses", expected "messages" as before; create a new group instead',
  ]);
});

test('setup rejects a key value that another key has, and applies nothing of the file', async () => {
  const value = 'a-value-that-is-taken-0001';
  await apply({ keys: [{ user: 'yan', group: 'yaml', name: 'first', key: value }] });
  const before = await dumpTables();
  const lines = await setupErrors({
    users: [{ id: 'late' }],
    keys: [
      { user: 'late', group: 'yaml' },
      { user: 'late', group: 'yaml', name: 'second', key: value },
    ],
  });
  assert.deepEqual(lines, ['keys[1].key: found the value of another key, expected a unique value']);
  assert.equal(await dumpTables(), before, 'nothing was applied');
});

test('setup applies nothing when the last object fails', async () => {
  const before = await dumpTables();
  await setupErrors({ groups: [{ id: 'half', style: 'messages' }], keys: [{ user: 'unknown', group: 'half' }] });
  // Valid for the schema; only the database rejects the text.
  const unstorable = { id: 'half', group: 'yaml', base_url: 'https://x.test', api_key: 'k', models: { a: '\u0000' } };
  await assert.rejects(apply({ groups: [{ id: 'half', style: 'messages' }], accounts: [unstorable] }));
  assert.equal(await dumpTables(), before);
});

test('applying a setup file again changes nothing and notifies no replica', async () => {
  const file = {
    ...basicSetup(),
    characters: [],
    groups: [...(basicSetup() as { groups: object[] }).groups, { id: 'film', style: 'video', variant: 'EP' }],
  };
  const complete = {
    ...file,
    accounts: [
      {
        id: 'film-1',
        group: 'film',
        base_url: 'https://film.test',
        api_key: 'film-credential',
        models: { b: '2', a: '1' },
        result_hosts: ['cdn.test'],
        assets: {
          base_url: 'https://assets.test',
          access_key: 'AK',
          secret_key: 'assets-secret',
          region: 'r',
          project: 'p',
        },
      },
    ],
    models: [
      {
        id: 'film-*',
        groups: ['film'],
        capabilities: { resolutions: ['720p', '1080p'], cancel_queued: true, default_duration: 5 },
        context: 1000,
        prices: { video: { '720p': '7', '1080p': '9.5' }, input: '1' },
      },
    ],
    users: [{ id: 'ana', email: 'ana@example.test', balance: '100', multiplier: '0.5' }],
    keys: [
      {
        user: 'ana',
        group: 'openai',
        name: 'complete',
        video_groups: ['film'],
        expires_at: '2099-01-01T00:00:00+02:00',
        spend_day: '5',
        tpm: 1000,
        rpm: 5,
      },
    ],
    characters: [{ id: 'mia', group: 'film', models: ['film-*'], upstream_asset: 'a-1', name: 'Mia', tags: ['calm'] }],
  };
  assert.ok((await apply(complete)).changes.length > 5);
  const before = [await revisions(), await dumpTables()];
  const { changes, effects, keys } = await apply(complete);
  assert.deepEqual([changes, effects, keys], [[], [], []]);
  assert.deepEqual([await revisions(), await dumpTables()], before);
});

test('setup file overrides manual edits and reports only those', async () => {
  await db().updateTable('groups').set({ name: 'Edited', multiplier_ppm: 9n }).where('id', '=', 'yaml').execute();
  await db().updateTable('models').set({ upstream: 'edited' }).where('group_id', '=', 'yaml').execute();
  await db()
    .updateTable('keys')
    .set({ limits: '{"rpm":1}' })
    .where('user_id', '=', 'yan')
    .where('name', '=', 'default')
    .execute();
  const { changes } = await apply(YAML);
  assert.deepEqual(
    changes.map(({ what, object }) => `${object} ${what}`),
    ['group yaml changed', 'model yaml-* of yaml changed', 'key default of yan in yaml changed'],
  );
  const group = await db().selectFrom('groups').selectAll().where('id', '=', 'yaml').executeTakeFirstOrThrow();
  assert.deepEqual([group.name, group.multiplier_ppm], ['From YAML', 1_500_000n]);
});

test('setup keeps the value of a field that the file omits', async () => {
  await apply({ accounts: [{ id: 'yaml-1', group: 'yaml', base_url: 'https://upstream.test', api_key: 'changed' }] });
  const account = await db().selectFrom('accounts').selectAll().where('id', '=', 'yaml-1').executeTakeFirstOrThrow();
  assert.equal(account.weight, 3);
  const { sealer } = gateway.context;
  assert.equal(sealer.open(account.credential_sealed, 'accounts.credential:yaml-1'), 'changed');
});

test('setup replaces a stored credential that does not open', async () => {
  await db().updateTable('accounts').set({ credential_sealed: 'v1:k1:damaged' }).where('id', '=', 'yaml-1').execute();
  const { changes } = await apply(YAML);
  assert.deepEqual(changes, [{ what: 'changed', object: 'account yaml-1' }]);
});

test('setup books an opening balance once', async () => {
  const credits = async () => {
    const { rows } = await sql<{ reference: string; nanos: bigint }>`
      select reference, nanos from entries where credit = 'yan'`.execute(db());
    return rows;
  };
  const once = [{ reference: 'open:yan', nanos: 12_500_000_000n }];
  assert.deepEqual(await credits(), once);
  await apply({ users: [{ id: 'yan', balance: '99' }] });
  assert.deepEqual(await credits(), once);
  await apply({ users: [{ id: 'later' }] });
  const { changes } = await apply({ users: [{ id: 'later', balance: '0.000000001' }] });
  assert.deepEqual(changes, [{ what: 'changed', object: 'user later' }]);
});

test('setup adds a row for a changed price and never edits one', async () => {
  const prices = async () =>
    db()
      .selectFrom('prices')
      .innerJoin('models', 'models.id', 'prices.model_id')
      .select(['prices.id', 'prices.rates'])
      .where('models.pattern', '=', 'priced')
      .orderBy('prices.id')
      .execute();
  const model = (rates: object, more: object = {}) => ({
    models: [{ id: 'priced', groups: ['yaml'], prices: rates, ...more }],
  });
  await apply(model({ input: '1', output: '2' }));
  assert.deepEqual(
    (await apply(model({ output: '2', input: '1' }))).changes,
    [],
    'the order of fields does not matter',
  );
  const first = await prices();
  assert.equal(first.length, 1);
  const { changes } = await apply(model({ input: '1', output: '3' }));
  assert.deepEqual(changes, [{ what: 'changed', object: 'model priced of yaml' }]);
  await apply({ models: [{ id: 'priced', groups: ['yaml'] }] });
  const both = await prices();
  assert.deepEqual(both[0], first[0], 'the old row is unchanged');
  assert.deepEqual(
    both.map(({ rates }) => rates),
    [
      { input: '1', output: '2' },
      { input: '1', output: '3' },
    ],
  );
});

test('setup dry run reports the changes and applies nothing', async () => {
  const before = [await revisions(), await dumpTables()];
  const { changes } = await apply(
    { groups: [{ id: 'dry', style: 'messages' }], users: [{ id: 'dry', balance: '5' }] },
    { dryRun: true, prune: true },
  );
  const reported = changes.map(({ what, object }) => `${object} ${what}`);
  assert.ok(reported.includes('group dry created') && reported.includes('group yaml removed'), reported.join(', '));
  assert.deepEqual([await revisions(), await dumpTables()], before);
});

test('setup keeps the provider cost when only the price changes, and the reverse', async () => {
  const rows = async () =>
    db()
      .selectFrom('prices')
      .innerJoin('models', 'models.id', 'prices.model_id')
      .select(['prices.rates', 'prices.cost'])
      .where('pattern', '=', 'costed')
      .orderBy('prices.id')
      .execute();
  const applyModel = (more: object) => apply({ models: [{ id: 'costed', groups: ['yaml'], ...more }] });
  await applyModel({ prices: { input: '3', output: '5' } });
  await applyModel({ cost: { input: '2', output: '4' } });
  await applyModel({ prices: { input: '4', output: '5' } });
  assert.deepEqual(
    (await applyModel({ cost: { input: '2', output: '4' } })).changes,
    [],
    'applying it again changes nothing',
  );
  assert.deepEqual(await rows(), [
    { rates: { input: '3', output: '5' }, cost: null },
    { rates: { input: '3', output: '5' }, cost: { input: '2', output: '4' } },
    { rates: { input: '4', output: '5' }, cost: { input: '2', output: '4' } },
  ]);
  assert.deepEqual(await setupErrors({ models: [{ id: 'x', groups: ['yaml'], cost: { input: 2 } }] }), [
    'models[0].cost.input: found 2, expected text; put it in quotes',
  ]);
});

test('setup prune removes what the file omits, revokes keys and keeps users', async () => {
  const own = await startGateway();
  try {
    const keys = await own.apply(basicSetup());
    const kept = basicSetup() as { groups: object[]; accounts: object[]; models: object[]; keys: object[] };
    const file = {
      ...kept,
      users: [],
      accounts: kept.accounts.slice(1),
      models: kept.models.slice(1),
      keys: kept.keys.slice(1),
    };
    const { changes } = await applySetup(own.context.database.db, parseSetup(JSON.stringify(file)), {
      secrets: own.context.secrets,
      prune: true,
    });
    const removed = changes.filter(({ what }) => what !== 'changed').map(({ what, object }) => `${object} ${what}`);
    assert.deepEqual(removed, [
      'key test of ana in openai revoked',
      'model demo-responses of openai removed',
      'account oa1 removed',
    ]);
    const count = async (table: 'users' | 'keys' | 'groups') =>
      Number(
        (
          await own.context.database.db
            .selectFrom(table)
            .select(sql<number>`count(*)::int`.as('n'))
            .executeTakeFirstOrThrow()
        ).n,
      );
    assert.deepEqual([await count('users'), await count('keys'), await count('groups')], [1, 3, 3]);
    const status = async (key = '') =>
      (await fetch(`${own.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status;
    await until('the revoked key to be rejected', async () => (await status(keys.openai)) === 401);
    assert.notEqual(await status(keys.claude), 401);
    const without = { ...file, groups: kept.groups.slice(1), models: [], accounts: [], keys: [] };
    await applySetup(own.context.database.db, parseSetup(JSON.stringify(without)), {
      secrets: own.context.secrets,
      prune: true,
    });
    assert.deepEqual([await count('users'), await count('groups')], [1, 2]);
  } finally {
    await own.stop();
  }
});

test('setup prune keeps prices and keys of removed models and groups', async () => {
  const own = await startGateway();
  const { db } = own.context.database;
  const prune = (file: object) =>
    applySetup(db, parseSetup(JSON.stringify(file)), { secrets: own.context.secrets, prune: true });
  try {
    const keys = await own.apply({
      groups: [
        { id: 'stays', style: 'messages' },
        { id: 'goes', style: 'messages' },
      ],
      models: [{ id: 'm', groups: ['stays', 'goes'], prices: { input: '3', output: '5' } }],
      users: [{ id: 'pia' }],
      keys: [
        { user: 'pia', group: 'stays' },
        { user: 'pia', group: 'goes' },
      ],
    });
    const prices = () => db.selectFrom('prices').selectAll().orderBy('id').execute();
    const before = await prices();
    const rejected = await prune({
      groups: [{ id: 'stays', style: 'messages' }],
      keys: [
        { user: 'pia', group: 'stays' },
        { user: 'pia', group: 'goes' },
      ],
    }).catch((error: unknown) => error);
    assert.ok(rejected instanceof SetupError);
    assert.deepEqual(rejected.lines, [
      'keys[1].group: found "goes", expected a group of the file; pruning removes the others',
    ]);
    const { changes } = await prune({
      groups: [{ id: 'stays', style: 'messages' }],
      keys: [{ user: 'pia', group: 'stays' }],
    });
    assert.deepEqual(
      changes.map(({ what, object }) => `${object} ${what}`),
      [
        'key default of pia in goes revoked',
        'model m of stays removed',
        'model m of goes removed',
        'group goes removed',
      ],
    );
    assert.deepEqual(
      await prices(),
      before.map((row) => ({ ...row, model_id: null })),
    );
    assert.deepEqual(
      before.map(({ model_group, model_pattern }) => `${model_pattern} of ${model_group}`),
      ['m of stays', 'm of goes'],
    );
    const rows = await db.selectFrom('keys').select(['group_id', 'revoked_at']).orderBy('group_id').execute();
    assert.deepEqual(
      rows.map(({ group_id, revoked_at }) => [group_id, revoked_at !== null]),
      [
        ['goes', true],
        ['stays', false],
      ],
    );
    const status = async (key = '') =>
      (await fetch(`${own.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status;
    await until('the key without a group to be rejected', async () => (await status(keys.goes)) === 401);
    assert.notEqual(await status(keys.stays), 401);
  } finally {
    await own.stop();
  }
});

test('removing a group revokes its keys, and no key can be created for a missing group', async () => {
  await apply({
    groups: [{ id: 'doomed', style: 'messages' }],
    keys: [{ user: 'yan', group: 'doomed', name: 'doomed' }],
  });
  await db().deleteFrom('groups').where('id', '=', 'doomed').execute();
  const key = await db().selectFrom('keys').selectAll().where('name', '=', 'doomed').executeTakeFirstOrThrow();
  assert.ok(key.revoked_at);
  await assert.rejects(
    sql`insert into keys (id, user_id, group_id, name, hash, hint, callback_secret_sealed)
      values ('key_orphan', 'yan', 'doomed', 'orphan', 'orphan', '', '')`.execute(db()),
    { code: '23503' },
  );
});

test('price rows cannot be changed or removed', async () => {
  for (const statement of [
    sql`update prices set rates = '{}'`,
    sql`update prices set valid_from = now()`,
    sql`delete from prices`,
    sql`truncate prices`,
  ])
    await assert.rejects(statement.execute(db()), /append-only/);
});

test('setup announces a future price once, keeps the current one, and can withdraw it', async () => {
  const at = (rates: object, validFrom?: string) =>
    apply({
      models: [{ id: 'later', groups: ['yaml'], prices: rates, ...(validFrom && { valid_from: validFrom }) }],
    });
  const inForce = async (time: string) => {
    const line = (await loadCatalog(db(), gateway.context.sealer, gateway.context.log))
      .lines('yaml')
      .find(({ pattern }) => pattern === 'later');
    return line && priceAt(line, Date.parse(time))?.rates;
  };
  const now = () => new Date(Date.now() + 1_000).toISOString();
  await at({ output: '1' });
  assert.equal((await at({ output: '2' }, '2090-01-01T00:00:00Z')).changes.length, 1);
  assert.deepEqual((await at({ output: '2' }, '2090-01-01T00:00:00Z')).changes, [], 'no second row');
  assert.deepEqual((await at({ output: '1' })).changes, [], 'the current price is unchanged');
  assert.deepEqual([await inForce(now()), await inForce('2089-12-31T23:59:59Z')], [{ output: '1' }, { output: '1' }]);
  assert.deepEqual(await inForce('2090-01-01T00:00:00Z'), { output: '2' });
  await at({ output: '1.5' });
  assert.deepEqual(await inForce('2090-01-01T00:00:00Z'), { output: '2' }, 'a change today does not affect it');
  await at({ output: '1.5' }, '2090-01-01T00:00:00Z');
  assert.deepEqual(await inForce('2090-01-01T00:00:00Z'), { output: '1.5' }, 'withdrawn');
  await at({ output: '7' }, '2026-01-01T00:00:00Z');
  assert.deepEqual(await inForce(now()), { output: '7' }, 'a time in the past means now');
  assert.deepEqual((await at({ output: '7' }, '2026-01-01T00:00:00Z')).changes, []);
});

test('a revoked key stays revoked when its setup file is applied again', async () => {
  const { keys } = await apply({ keys: [{ user: 'yan', group: 'yaml', name: 'leaked' }] });
  assert.equal(keys.length, 1);
  const row = await db().selectFrom('keys').select('id').where('name', '=', 'leaked').executeTakeFirstOrThrow();
  await markKeyRevoked(db(), row.id);
  await apply({ keys: [{ user: 'yan', group: 'yaml', name: 'leaked' }] });
  const { revoked_at } = await db().selectFrom('keys').selectAll().where('id', '=', row.id).executeTakeFirstOrThrow();
  assert.ok(revoked_at);
});

test('a key that was rotated after the file was written keeps its newer value', async () => {
  const value = 'key-in-the-file-that-is-rotated-1';
  const file = {
    groups: [{ id: 'rotating', style: 'messages' }],
    users: [{ id: 'rota' }],
    keys: [{ user: 'rota', group: 'rotating', name: 'ci', key: value, rpm: 7 }],
  };
  await apply(file);
  const context = { by: { actor: 'file' }, now: Date.now(), secrets: gateway.context.secrets } as const;
  const current = () =>
    db()
      .selectFrom('keys')
      .selectAll()
      .where('user_id', '=', 'rota')
      .where('name', '=', 'ci')
      .executeTakeFirstOrThrow();
  for (const limit of [8, 9]) {
    await rotateKey(db(), (await current()).id, 0, context);
    const { hash } = await current();
    const { changes, rotated } = await apply({ ...file, keys: [{ ...file.keys[0], rpm: limit }] });
    assert.deepEqual(rotated, ['ci of rota in rotating']);
    assert.deepEqual(
      changes,
      [{ what: 'changed', object: 'key ci of rota in rotating' }],
      'its settings follow the file',
    );
    assert.deepEqual((await current()).hash, hash);
  }
});

test('concurrent setup files are applied one after the other', async () => {
  const file = (name: string) => ({
    groups: [{ id: 'race', style: 'messages', name }],
    users: [{ id: 'race', balance: '1' }],
  });
  const results = await Promise.all(['a', 'b', 'c', 'd'].map((name) => apply(file(name))));
  assert.equal(results.flatMap(({ changes }) => changes).filter(({ what }) => what === 'created').length, 2);
});

test('replicas see a new group, model and key within five seconds', async () => {
  const replica = await startGateway({ database: gateway.database });
  try {
    const { keys } = await apply({
      groups: [{ id: 'fresh', style: 'responses' }],
      models: [{ id: 'fresh-model', groups: ['fresh'], upstream: 'behind-it' }],
      keys: [{ user: 'yan', group: 'fresh' }],
    });
    const headers = { authorization: `Bearer ${keys[0]?.token}` };
    for (const { url, catalog } of [gateway, replica]) {
      await until(
        'the key to be accepted',
        async () => ![401, 500].includes((await fetch(`${url}/v1/models`, { headers })).status),
      );
      await until('the model', () => catalog().resolve('fresh', 'fresh-model')?.upstream === 'behind-it');
    }
  } finally {
    await replica.stop();
  }
});

test('setup errors never repeat a secret', async () => {
  const secret = 'sk-live-do-not-repeat-this';
  const account = { id: 'a', group: 'yaml', base_url: 'https://x.test' };
  const assets = { base_url: 'https://x.test', access_key: secret, secret_key: secret, region: 'r' };
  const files: (object | string)[] = [
    { accounts: [{ ...account, api_key: [secret] }] },
    { accounts: { a: { ...account, api_key: secret } } },
    { accounts: [secret] },
    { accounts: [[{ ...account, api_key: secret }]] },
    { accounts: [{ ...account, api_key: secret, assets: [assets] }] },
    { accounts: [{ ...account, api_key: secret, assets: secret }] },
    { accounts: [{ ...account, api_key: 'k', assets: { ...assets, project: { secret } } }] },
    { accounts: [{ ...account, api_key: secret.repeat(200) }] },
    { keys: [{ user: 'yan', group: 'yaml', key: `dg-${secret}` }] },
    { keys: [{ user: 'yan', group: 'yaml', key: { value: secret } }] },
    { keys: { yan: secret } },
    { keys: [secret] },
    [{ accounts: [{ ...account, api_key: secret }] }],
    { keys: [{ user: 'unknown', group: 'yaml', key: secret }] },
    {
      keys: [
        { user: 'yan', group: 'yaml', name: 'x', key: secret },
        { user: 'yan', group: 'yaml', name: 'y', key: secret },
      ],
    },
    `accounts:\n  - api_key: *${secret}\n`,
    `accounts:\n  - api_key: "${secret}\n    id: a`,
    `accounts:\n  - api_key: @${secret}\n`,
    `accounts:\n  - api_key: !${secret} x\n`,
    `accounts:\n  - api_key: ${secret}: ${secret}: x\n`,
    `accounts:\n  - api_key: [${secret}\n`,
    `accounts:\n  - api_key: {${secret}: 1, ${secret}: 2}\n`,
    `accounts:\n  - "${secret}": 1\n    "${secret}": 2\n`,
  ];
  for (const file of files) {
    const lines = await setupErrors(file);
    assert.ok(!lines.join('\n').includes('do-not-repeat'), lines.join('\n'));
  }
});

test('setup names the line of what is nested too deeply, and of aliases that would fill the memory', () => {
  const reasonOf = (text: string): readonly string[] => {
    try {
      parseSetup(text);
    } catch (error) {
      if (error instanceof SetupError) return error.lines;
    }
    return ['accepted'];
  };
  const deep = ['['.repeat(20_000), `${'['.repeat(20_000)}${']'.repeat(20_000)}`, `\n${'- '.repeat(20_000)}x`];
  for (const value of deep) {
    const [reason = '', ...others] = reasonOf(`users: []\ngroups: ${value}`);
    assert.match(reason, /^Lists and objects are nested too deeply \(line [23], column \d+\)$/);
    assert.deepEqual(others, []);
  }
  const bomb = Array.from({ length: 9 }, (_, n) => `  - &a${n} [${Array(9).fill(n === 0 ? 1 : `*a${n - 1}`)}]\n`);
  assert.deepEqual(reasonOf(`groups:\n${bomb.join('')}`), [
    'Aliases repeat aliases, so that the document would grow too large; write their values (line 3, column 10)',
  ]);
});
