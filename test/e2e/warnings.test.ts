/** Warnings on a real server: thresholds, notices sent once, and their destinations. */
import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import { sql } from 'kysely';
import { type Clock, createSealer, formatNanos, parseNanos, silentLog } from '../../src/core/index.ts';
import { checkAlarms } from '../../src/ledger/index.ts';
import { createWarnings } from '../../src/observe/warnings/index.ts';
import { reseal } from '../../src/program/jobs/index.ts';
import { WARNING_LIMITS } from '../../src/rules/index.ts';
import type { ShownDestination, ShownNotice, ShownWarning } from '../../src/schemas/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { Receiver } from '../support/callbacks.ts';
import { addPerson, type Browser, browserOf, type ConsoleFault } from '../support/console.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { MailServer } from '../support/mail-server.ts';
import { until } from '../support/wait.ts';

const receiver = new Receiver();
const mailServer = new MailServer();
let gateway: TestGateway;
let replica: TestGateway;
let ana: Browser;
let ben: Browser;
const admin = adminApi(() => gateway.url);
const db = () => gateway.context.database.db;

before(async () => {
  await Promise.all([receiver.listen(), mailServer.listen()]);
  const env = {
    ADMIN_TOKEN,
    EGRESS_ALLOW: receiver.origin,
    SMTP_URL: mailServer.url,
    SMTP_FROM: 'Dragoman <gateway@example.test>',
  };
  gateway = await startGateway({ setup: basicSetup(), env });
  await gateway.apply({
    users: [{ id: 'ben', balance: '100' }],
    keys: [{ user: 'ben', group: 'openai', name: 'of ben' }],
  });
  replica = await startGateway({ env, database: gateway.database });
  ana = await browserOf(gateway, await addPerson(db(), { email: 'ana@example.test', role: 'user', user: 'ana' }));
  ben = await browserOf(gateway, await addPerson(db(), { email: 'ben@example.test', role: 'user', user: 'ben' }));
});
after(async () => {
  receiver.close();
  mailServer.close();
  await replica.stop();
  await gateway.stop();
});
beforeEach(async () => {
  receiver.reset();
  mailServer.mails.length = 0;
  for (const table of ['warning_rules', 'warning_destinations', 'notices'])
    await sql`delete from ${sql.table(table)}`.execute(db());
  for (const user of ['ana', 'ben']) await setBalance(user, '100');
});

/** The jobs of one server, run by hand. */
const jobsOf = ({ context }: TestGateway, clock: Clock = context.clock) => {
  const { jobs } = createWarnings({
    ...context,
    clock,
    db: context.database.db,
    publicUrl: () => 'https://gateway.test',
    allowedOrigins: context.config.EGRESS_ALLOW,
    mail: { url: mailServer.url, from: 'Dragoman <gateway@example.test>' },
  });
  const run = (name: string): Promise<number> => jobs.find((job) => job.name === name)?.run() ?? assert.fail(name);
  return {
    check: () => run('warnings.check'),
    deliver: () => run('notices.deliver'),
    expire: () => run('notices.expire'),
  };
};
const { check, deliver } = { check: () => jobsOf(gateway).check(), deliver: () => jobsOf(gateway).deliver() };

let bookings = 0;
/** Booked as operators do. */
async function setBalance(user: string, amount: string): Promise<void> {
  const { body } = await admin<{ available: string }>('GET', `/users/${user}/balance`);
  const difference = (parseNanos(amount) ?? 0n) - (parseNanos(body.available) ?? 0n);
  if (difference === 0n) return;
  bookings += 1;
  const booking = { user, amount: formatNanos(difference), reason: 'test', reference: `booking ${bookings}` };
  assert.equal((await admin('POST', '/credits', booking)).status, 201);
}

const makeRule = async (rule: object): Promise<ShownWarning> => {
  const { status, body, text } = await admin<ShownWarning>('POST', '/warnings', rule);
  assert.equal(status, 201, text);
  return body;
};
const makeDestination = async (given: object = {}): Promise<ShownDestination> => {
  const destination = { kind: 'webhook', url: `${receiver.origin}/hook?token=secret-token`, ...given };
  const { status, body, text } = await admin<ShownDestination>('POST', '/warning-destinations', destination);
  assert.equal(status, 201, text);
  return body;
};
const notices = async (): Promise<readonly ShownNotice[]> =>
  (await admin<{ data: readonly ShownNotice[] }>('GET', '/notices')).body.data;

/** Both signatures, with Web Crypto and the secret as it was shown. */
async function isSigned(secret: string, { headers, body }: (typeof receiver.deliveries)[number]): Promise<boolean> {
  const raw = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const key = await webcrypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
  const verify = (signature: Buffer, signed: string) =>
    webcrypto.subtle.verify('HMAC', key, new Uint8Array(signature), new TextEncoder().encode(signed));
  const own = String(headers['x-gateway-signature']).replace('v1=', '');
  const standard = String(headers['webhook-signature']).replace('v1,', '');
  const [id, time] = [headers['webhook-id'], headers['webhook-timestamp']];
  return (
    (await verify(Buffer.from(own, 'hex'), `${time}\n${id}\n${body}`)) &&
    (await verify(Buffer.from(standard, 'base64'), `${id}.${time}.${body}`))
  );
}

test('a crossing is one signed notice, until the condition has ended and holds again', async () => {
  const { secret = '', id: destination } = await makeDestination();
  const { id: rule } = await makeRule({ kind: 'balance', amount: '5', subject: 'ana', name: 'Ana runs dry' });
  assert.equal(await check(), 0);
  await setBalance('ana', '4');
  assert.equal(await check(), 1);
  assert.equal(await check(), 0, 'the same event');
  assert.equal(await deliver(), 1);
  assert.equal(await deliver(), 0);
  const [delivery, ...more] = receiver.deliveries;
  assert.ok(delivery && more.length === 0);
  assert.ok(await isSigned(secret, delivery));
  assert.equal(delivery.path, '/hook?token=secret-token');
  const body = JSON.parse(delivery.body);
  assert.equal(body.event_id, delivery.headers['x-gateway-event-id']);
  assert.deepEqual(
    { ...body, event_id: '', created_at: 0 },
    {
      event_id: '',
      type: 'warning',
      created_at: 0,
      data: {
        title: 'The balance of user ana is $4, below $5',
        url: 'https://gateway.test/console/warnings',
        rule: {
          id: rule,
          name: 'Ana runs dry',
          kind: 'balance',
          scope: 'user',
          period: null,
          amount: '5',
          percent: null,
          min_calls: null,
        },
        count: 1,
        subjects: [{ id: 'ana', name: null, value: '4' }],
      },
    },
  );
  const [sent] = await notices();
  assert.deepEqual(
    sent?.deliveries.map((one) => [one.destination, one.state, one.attempts, one.last_status]),
    [[destination, 'delivered', 1, 200]],
  );
  await setBalance('ana', '100');
  assert.equal(await check(), 0);
  await setBalance('ana', '3');
  assert.equal(await check(), 1, 'a new event');
  assert.equal((await notices()).length, 2);
});

test('a rule that was paused begins anew, whether or not other rules were checked meanwhile', async () => {
  for (const others of [0, 1]) {
    if (others === 1) await makeRule({ kind: 'balance', amount: '1', subject: 'ben' });
    const { id } = await makeRule({ kind: 'balance', amount: '5', subject: 'ana' });
    await setBalance('ana', '4');
    assert.equal(await check(), 1);
    const { body: paused } = await admin<ShownWarning>('PATCH', `/warnings/${id}`, { paused: true });
    await check();
    assert.equal(paused.holds_for, 0, 'it is not checked');
    await setBalance('ana', '6');
    await check();
    await setBalance('ana', '3');
    await admin('PATCH', `/warnings/${id}`, { paused: false });
    assert.equal(await check(), 1, 'a new event');
    await admin('DELETE', `/warnings/${id}`);
    await setBalance('ana', '100');
  }
});

test('two servers that check at the same time write one notice', async () => {
  await makeDestination();
  await makeRule({ kind: 'balance', amount: '5' });
  await setBalance('ana', '4');
  await setBalance('ben', '1');
  const found = await Promise.all([gateway, replica, gateway, replica].map((server) => jobsOf(server).check()));
  assert.deepEqual(
    found.filter((count) => count > 0),
    [2],
  );
  await Promise.all([jobsOf(gateway).deliver(), jobsOf(replica).deliver()]);
  assert.equal(receiver.deliveries.length, 1);
  const { title, subjects } = JSON.parse(receiver.deliveries[0]?.body ?? '').data;
  assert.equal(title, 'Warning the available balance of a user is below an amount: 2 users');
  assert.deepEqual(subjects, [
    { id: 'ana', name: null, value: '4' },
    { id: 'ben', name: null, value: '1' },
  ]);
});

test('a check that fails between the crossing and the notice stores neither', async () => {
  await makeRule({ kind: 'balance', amount: '5', subject: 'ana' });
  await setBalance('ana', '4');
  await sql`alter table notices add constraint broken check (false) not valid`.execute(db());
  try {
    await assert.rejects(check(), /broken/);
  } finally {
    await sql`alter table notices drop constraint broken`.execute(db());
  }
  assert.deepEqual(await db().selectFrom('warning_states').selectAll().execute(), []);
  assert.equal(await check(), 1);
  assert.equal((await notices()).length, 1);
});

test('a server that died while it sent leaves the notice to another one, with the same id', async () => {
  await makeDestination();
  await makeRule({ kind: 'balance', amount: '5', subject: 'ana' });
  await setBalance('ana', '4');
  await check();
  receiver.respond = () => 500;
  await deliver();
  assert.equal(await jobsOf(replica).deliver(), 0, 'the next attempt is not due');
  receiver.respond = () => 200;
  // What a death between taking and marking leaves, when the lease is over.
  await sql`update notice_deliveries set next_at = now()`.execute(db());
  assert.equal(await jobsOf(replica).deliver(), 1);
  const ids = receiver.deliveries.map(({ headers }) => headers['webhook-id']);
  assert.equal(ids.length, 2);
  assert.equal(new Set(ids).size, 1);
  assert.equal((await notices())[0]?.deliveries[0]?.state, 'delivered');
});

/** Spending of a key today, in the roll-up that the flusher writes. */
async function charge(user: string, group: string, amount: string, day: Date): Promise<string> {
  const key = await db()
    .selectFrom('keys')
    .select('id')
    .where('user_id', '=', user)
    .where('group_id', '=', group)
    .executeTakeFirstOrThrow();
  const zeros = sql.join(Array.from({ length: 11 }, () => sql`0`));
  await sql`
    insert into usage_daily (user_id, day, key_id, group_id, model, account_id, operation, requests, input_tokens, cached_input_tokens,
      cache_write_tokens, output_tokens, reasoning_tokens, audio_tokens, image_tokens, searches, images, estimated, nanos)
    values (${user}, ${day.toISOString().slice(0, 10)}::date, ${key.id}, ${group}, 'm', 'a', 'o', ${zeros}, ${parseNanos(amount)})
    on conflict (user_id, day, key_id, group_id, model, account_id, operation) do update set nanos = usage_daily.nanos + excluded.nanos`.execute(
    db(),
  );
  return key.id;
}

test('spending of a day and a month, and shares of limits, are new events in a new period', async () => {
  await sql`delete from usage_daily`.execute(db());
  const clock = new FakeClock(Date.UTC(2031, 4, 14, 12));
  const { check: checkAt } = jobsOf(gateway, clock);
  const at = () => new Date(clock.now());
  await gateway.apply({ users: [{ id: 'ana', spend_month: '10' }] });
  await makeRule({ kind: 'spend', scope: 'key', period: 'day', amount: '2', name: 'any key' });
  await makeRule({ kind: 'spend', subject: 'ana', period: 'month', amount: '6', name: 'ana' });
  await makeRule({ kind: 'limit', period: 'month', percent: 80, name: 'near its limit' });
  const titles = async (): Promise<string[]> => (await notices()).map(({ title }) => title);

  const key = await charge('ana', 'openai', '2.5', at());
  await charge('ben', 'openai', '1', at());
  assert.equal(await checkAt(), 1);
  assert.deepEqual(await titles(), [`The key test (${key}) has spent $2.5 today (UTC), at least $2`]);
  await charge('ana', 'claude', '1', at());
  assert.equal(await checkAt(), 0, 'another key, below the amount');
  clock.advance(86_400_000);
  assert.equal(await checkAt(), 0, 'a new day');
  await charge('ana', 'openai', '4.5', at());
  assert.equal(await checkAt(), 3, 'the key of the new day, the month, and 80 % of the limit');
  assert.ok((await titles()).includes('The user ana has used 80 % of its spend limit this month (UTC)'));
  assert.ok((await titles()).includes('The user ana has spent $8 this month (UTC), at least $6'));
  clock.advance(86_400_000);
  assert.equal(await checkAt(), 0, 'the month goes on, also without spending today');
  assert.equal((await db().selectFrom('warning_states').selectAll().execute()).length, 2);
  clock.advance(31 * 86_400_000);
  await charge('ana', 'openai', '7', at());
  assert.equal(await checkAt(), 2, 'a new month: key and user');
});

test('several rules of a user count the same spending once, and keys that replaced one another together', async () => {
  await sql`delete from usage_daily`.execute(db());
  const now = new Date();
  const first = await charge('ana', 'gemini', '3', now);
  for (const amount of ['5', '6', '3'])
    await ana.send('POST', '/console/v1/warnings', { kind: 'spend', period: 'day', amount });
  const rule = { kind: 'spend', scope: 'key', subject: first, period: 'day', amount: '4' };
  await ana.send('POST', '/console/v1/warnings', rule);
  assert.equal(await check(), 1, '3 dollars are not 5');
  const { body } = await admin<{ id: string }>('POST', `/keys/${first}/rotate`, { overlap_seconds: 0 });
  await sql`
    insert into usage_daily select (jsonb_populate_record(d, jsonb_build_object('key_id', ${body.id}::text, 'nanos', 1000000000))).*
    from usage_daily d`.execute(db());
  assert.equal(await check(), 1, 'the replaced key has spent 3, the new one 1');
  const { data } = (await ana.send<{ data: ShownNotice[] }>('GET', '/console/v1/notices')).body;
  assert.deepEqual(
    data[0]?.subjects.map(({ id, value }) => [id, value]),
    [[first, '4']],
  );
});

test('accounts, error shares, margins and alarms of operators', async () => {
  const now = new Date();
  const hour = new Date(Math.floor(now.getTime() / 3_600_000) * 3_600_000);
  const figures = { requests: 100, provider_errors: 8, own_errors: 2, nanos: 1_000_000_000, cost_nanos: 950_000_000 };
  for (const [level, group, account, model, more] of [
    ['total', '', '', '', {}],
    ['group', 'openai', '', '', {}],
    ['all', 'openai', 'oa1', 'm', {}],
    // Its cost is unknown, so it says nothing about the margin.
    ['all', 'openai', 'oa2', 'm', { cost_nanos: 0, cost_unknown: 1 }],
  ] as const)
    await sql`
      insert into request_hours select * from jsonb_populate_record(null::request_hours, ${JSON.stringify({
        level,
        hour,
        group_id: group,
        account_id: account,
        model,
        caller_errors: 50,
        client_closed: 0,
        input_tokens: 0,
        cached_input_tokens: 0,
        output_tokens: 0,
        cost_unknown: 0,
        first_byte: 0,
        total: 0,
        added: 0,
        failover: 0,
        ...figures,
        ...more,
      })}::jsonb)`.execute(db());
  await makeRule({ kind: 'errors', percent: 10, min_calls: 100, name: 'all' });
  await makeRule({ kind: 'errors', percent: 11, name: 'too high' });
  await makeRule({ kind: 'errors', percent: 1, min_calls: 101, name: 'too few' });
  await makeRule({ kind: 'errors', scope: 'group', subject: 'openai', percent: 5 });
  await makeRule({ kind: 'margin', percent: 10, min_calls: 100, scope: 'group' });
  await makeRule({ kind: 'margin', percent: 5, name: 'not below' });
  await makeRule({ kind: 'account' });
  await makeRule({ kind: 'alarm', subject: 'usage_quarantined' });
  await admin('POST', '/accounts/oa1/park', {});
  await admin('POST', '/accounts/cl1/drain', {});
  await db().insertInto('usage_quarantine').values({ id: 'doubtful', fault: 'f', raw: '{}' }).execute();
  await checkAlarms(db(), silentLog);
  try {
    const crossed = await check();
    const titles = (await notices()).map(({ title }) => title).toSorted();
    assert.deepEqual(titles, [
      '10 % of all calls failed in the last 2 hours',
      '10 % of the calls of group openai failed in the last 2 hours',
      'The account oa1 is parked',
      'The alarm usage_quarantined is raised: doubtful',
      'The margin of group openai is 5 % in the last 2 hours, below 10 %',
    ]);
    assert.equal(crossed, 5);
    const { body } = await admin<{ data: readonly ShownWarning[] }>('GET', '/warnings');
    assert.equal(body.data.filter(({ holds_for }) => holds_for === 1).length, 5);
  } finally {
    for (const account of ['oa1', 'cl1']) await admin('POST', `/accounts/${account}/resume`, {});
    await db().deleteFrom('usage_quarantine').execute();
    await sql`delete from request_hours`.execute(db());
  }
});

test('quiet hours delay a notice to their end, and it is then sent once', async () => {
  const clock = new FakeClock(Date.UTC(2031, 0, 14, 22, 30));
  const jobs = jobsOf(gateway, clock);
  await makeDestination({ quiet: { from: '22:00', to: '07:00', timezone: 'Europe/Berlin' } });
  await makeRule({ kind: 'balance', amount: '5', subject: 'ana' });
  await setBalance('ana', '4');
  const begun = Date.now();
  await jobs.check();
  await jobs.deliver();
  assert.equal(receiver.deliveries.length, 0);
  const [waiting] = (await notices())[0]?.deliveries ?? [];
  assert.deepEqual([waiting?.state, waiting?.attempts], ['pending', 0]);
  // From 23:30 to 07:00 in Berlin.
  const delayedAt = new Date(waiting?.next_attempt_at ?? 0).getTime() - 7.5 * 3_600_000;
  assert.ok(delayedAt >= begun && delayedAt <= Date.now(), String(waiting?.next_attempt_at));
  await sql`update notice_deliveries set next_at = now()`.execute(db());
  clock.advance(7.5 * 3_600_000);
  await Promise.all([jobs.deliver(), jobsOf(replica, clock).deliver()]);
  assert.equal(receiver.deliveries.length, 1);
});

test('Slack and Teams get their own forms, and mail its addresses', async () => {
  await makeDestination({ kind: 'slack', url: `${receiver.origin}/slack` });
  await makeDestination({ kind: 'teams', url: `${receiver.origin}/teams` });
  const mail = await admin<ShownDestination>('POST', '/warning-destinations', {
    kind: 'mail',
    addresses: ['ops@example.test', 'more@example.test'],
  });
  assert.equal(mail.status, 201);
  await makeRule({ kind: 'balance', amount: '5', name: 'low <b>' });
  await setBalance('ana', '4');
  await setBalance('ben', '1');
  await check();
  await deliver();
  const bodyOf = (path: string) =>
    JSON.parse(receiver.deliveries.find((one) => one.path === path)?.body ?? assert.fail(path));
  const link = '<https://gateway.test/console/warnings|Open warnings>';
  assert.deepEqual(bodyOf('/slack'), {
    text: 'Warning low &lt;b&gt;: 2 users',
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: 'Warning low <b>: 2 users' } },
      {
        type: 'section',
        text: {
          type: 'mrkdwn',
          text: `• The balance of user ana is $4, below $5\n• The balance of user ben is $1, below $5\n${link}`,
        },
      },
    ],
  });
  const teams = bodyOf('/teams');
  assert.equal(teams.type, 'message');
  assert.equal(teams.attachments.length, 1);
  assert.equal(teams.attachments[0].contentType, 'application/vnd.microsoft.card.adaptive');
  const card = teams.attachments[0].content;
  assert.deepEqual(
    [card.type, card.version, card.$schema],
    ['AdaptiveCard', '1.4', 'http://adaptivecards.io/schemas/adaptive-card.json'],
  );
  assert.deepEqual(
    card.body.map(({ type, text }: { type: string; text: string }) => [type, text]),
    [
      ['TextBlock', 'Warning low \\<b\\>: 2 users'],
      ['TextBlock', 'The balance of user ana is $4, below $5'],
      ['TextBlock', 'The balance of user ben is $1, below $5'],
    ],
  );
  assert.deepEqual(card.actions, [
    { type: 'Action.OpenUrl', title: 'Open warnings', url: 'https://gateway.test/console/warnings' },
  ]);
  const [sent] = mailServer.mails;
  assert.ok(sent && mailServer.mails.length === 1);
  assert.deepEqual([sent.from, sent.to], ['gateway@example.test', ['ops@example.test', 'more@example.test']]);
  assert.match(sent.data, /^Subject: Dragoman: Warning low <b>: 2 users\r$/m);
  assert.match(sent.data, /^Auto-Submitted: auto-generated\r$/im);
  assert.match(sent.data, /- The balance of user ana is \$4, below \$5/);
});

test('a mail server that refuses is asked again, and its words are not kept', async () => {
  mailServer.status = 554;
  try {
    await admin('POST', '/warning-destinations', { kind: 'mail', addresses: ['ops@example.test'] });
    await makeRule({ kind: 'balance', amount: '5', subject: 'ana' });
    await setBalance('ana', '4');
    await check();
    await deliver();
  } finally {
    mailServer.status = 250;
  }
  const [failed] = (await notices())[0]?.deliveries ?? [];
  assert.deepEqual([failed?.state, failed?.last_error], ['pending', 'mail']);
  await sql`update notice_deliveries set next_at = now()`.execute(db());
  await deliver();
  assert.equal(mailServer.mails.length, 1);
});

test('URLs and secrets are stored sealed, are never shown again or logged, and follow the master key', async () => {
  const made = await makeDestination();
  assert.match(made.secret ?? '', /^whsec_/);
  const listed = await admin('GET', '/warning-destinations');
  assert.ok(!listed.text.includes('secret-token') && !listed.text.includes('whsec_'));
  assert.equal((await admin('POST', `/warning-destinations/${made.id}/test`, {})).body.delivered, true);
  const test = JSON.parse(receiver.deliveries[0]?.body ?? '');
  assert.equal(test.type, 'test');
  assert.ok(await isSigned(made.secret ?? '', receiver.deliveries[0] ?? assert.fail()));
  const audit = await admin('GET', '/audit?limit=10');
  const stored = await sql<{ row: string }>`select to_jsonb(d)::text as row from warning_destinations d`.execute(db());
  for (const text of [audit.text, JSON.stringify(gateway.log), stored.rows[0]?.row ?? '']) {
    assert.ok(!text.includes('secret-token'), text);
    assert.ok(!text.includes((made.secret ?? '').slice(6)), text);
  }
  const masterKeys = [
    ['k2', 'another-master-key-'.repeat(3)],
    ['k1', 'test-master-key-'.repeat(3)],
  ] as const;
  const next = createSealer(masterKeys);
  await reseal(db(), next);
  const { rows } = await sql<{ url: string; secret: string }>`
    select url_sealed as url, secret_sealed as secret from warning_destinations`.execute(db());
  assert.match(rows[0]?.url ?? '', /^v1:k2:/);
  assert.equal(
    next.open(rows[0]?.url ?? '', `warning_destinations.url:${made.id}`),
    `${receiver.origin}/hook?token=secret-token`,
  );
  assert.match(rows[0]?.secret ?? '', /^v1:k2:/);
  await reseal(db(), createSealer(masterKeys.toReversed()));
});

test('users watch their own wallet and keys, and nothing of anybody else', async () => {
  const list = async (who: Browser, path: string) =>
    (await who.send<{ data: { id: string }[] }>('GET', path)).body.data;
  const made = await ana.send<ShownDestination>('POST', '/console/v1/warning-destinations', {
    kind: 'webhook',
    url: `${receiver.origin}/ana`,
  });
  const rule = await ana.send<ShownWarning>('POST', '/console/v1/warnings', { kind: 'balance', amount: '5' });
  assert.deepEqual([rule.status, rule.body.subject], [201, 'ana']);
  await makeDestination({ url: `${receiver.origin}/operators` });
  await setBalance('ana', '4');
  await setBalance('ben', '1');
  assert.equal(await check(), 1);
  await deliver();
  assert.deepEqual(
    receiver.deliveries.map(({ path }) => path),
    ['/ana'],
  );
  assert.match(receiver.deliveries[0]?.body ?? '', /console\/my\/warnings/);

  for (const path of ['warnings', 'warning-destinations', 'notices']) {
    assert.equal((await list(ana, `/console/v1/${path}`)).length, 1, path);
    assert.deepEqual(await list(ben, `/console/v1/${path}`), [], path);
  }
  assert.deepEqual(await notices(), [], 'nor do operators get it');
  const keyOfBen = (await list(ben, '/console/v1/keys'))[0]?.id;
  const rejected = async (who: Browser, method: string, path: string, body?: object): Promise<string> =>
    (await who.send<ConsoleFault>(method, `/console/v1/${path}`, body)).body.error?.code;
  for (const [method, path, body] of [
    ['POST', 'warnings', { kind: 'balance', amount: '5', subject: 'ben' }],
    ['POST', 'warnings', { kind: 'spend', amount: '5', scope: 'key', subject: keyOfBen }],
  ] as const)
    assert.equal(await rejected(ana, method, path, body), 'object_not_found', JSON.stringify(body));
  for (const kind of ['errors', 'margin', 'account', 'alarm'])
    assert.equal(
      await rejected(ana, 'POST', 'warnings', {
        kind,
        ...((kind === 'errors' || kind === 'margin') && { percent: 5 }),
      }),
      'not_permitted',
      kind,
    );
  for (const [method, path, body] of [
    ['PATCH', `warnings/${rule.body.id}`, { amount: '1' }],
    ['DELETE', `warnings/${rule.body.id}`, undefined],
    ['PATCH', `warning-destinations/${made.body.id}`, { name: 'x' }],
    ['POST', `warning-destinations/${made.body.id}/test`, {}],
    ['DELETE', `warning-destinations/${made.body.id}`, undefined],
    ['POST', 'warnings', { kind: 'balance', amount: '1', destinations: [made.body.id] }],
  ] as const)
    assert.equal(await rejected(ben, method, path, body), 'object_not_found', `${method} ${path}`);
  assert.equal((await admin('DELETE', `/warnings/${rule.body.id}`)).status, 404);
});

test('mail of a user goes to people of the user, also after one of them left', async () => {
  const path = '/console/v1/warning-destinations';
  const mail = (addresses: string[]) => ana.send<ConsoleFault>('POST', path, { kind: 'mail', addresses });
  for (const foreign of [['ben@example.test'], ['ana@example.test', 'else@example.test']])
    assert.equal((await mail(foreign)).body.error.code, 'not_permitted');
  const cleo = await addPerson(db(), { email: 'cleo@example.test', role: 'user', user: 'ana' });
  assert.equal((await mail(['ana@example.test', 'cleo@example.test'])).status, 201);
  await ana.send('POST', '/console/v1/warnings', { kind: 'balance', amount: '5' });
  await db().updateTable('people').set({ disabled_at: new Date() }).where('id', '=', cleo).execute();
  await setBalance('ana', '4');
  await check();
  await deliver();
  assert.deepEqual(
    mailServer.mails.map(({ to }) => to),
    [['ana@example.test']],
  );
});

test('a private address is not reached, and rejected input names its field', async () => {
  const { body } = await ana.send<ShownDestination>('POST', '/console/v1/warning-destinations', {
    kind: 'webhook',
    url: `${gateway.url}/admin/v1/alarms`,
  });
  const tried = await ana.send('POST', `/console/v1/warning-destinations/${body.id}/test`, {});
  assert.deepEqual([tried.body.delivered, tried.body.status], [false, null]);
  for (const [path, given, param] of [
    ['/warnings', { kind: 'balance' }, 'amount'],
    ['/warnings', { kind: 'balance', amount: '5', percent: 5 }, 'percent'],
    ['/warnings', { kind: 'balance', amount: '5', period: 'day' }, 'period'],
    ['/warnings', { kind: 'limit', percent: 101 }, 'percent'],
    ['/warnings', { kind: 'spend', amount: '5', scope: 'group' }, 'scope'],
    ['/warnings', { kind: 'alarm', subject: 'no_such_alarm' }, 'subject'],
    ['/warnings', { kind: 'errors', percent: 5, subject: 'openai' }, 'subject'],
    ['/warning-destinations', { kind: 'slack' }, 'url'],
    ['/warning-destinations', { kind: 'mail', url: 'https://a.test' }, 'url'],
    [
      '/warning-destinations',
      { kind: 'slack', url: 'https://a.test', quiet: { from: '22:00', to: '07:00', timezone: 'Mars/Base' } },
      'quiet.timezone',
    ],
  ] as const) {
    const rejected = await admin<ConsoleFault>('POST', path, given);
    assert.ok(rejected.status === 400 || rejected.status === 404, rejected.text);
    assert.equal(rejected.body.error.param, param, rejected.text);
  }
});

test('numbers of rules, destinations and waiting notices are limited', async () => {
  for (let n = 0; n < WARNING_LIMITS.destinations.user; n += 1)
    await ana.send('POST', '/console/v1/warning-destinations', { kind: 'slack', url: `${receiver.origin}/${n}` });
  const further = { kind: 'slack', url: `${receiver.origin}/more` };
  const refused = await ana.send<ConsoleFault>('POST', '/console/v1/warning-destinations', further);
  assert.equal(refused.body.error.code, 'conflict');
  for (let n = 0; n < WARNING_LIMITS.rules.user; n += 1)
    await ana.send('POST', '/console/v1/warnings', { kind: 'balance', amount: '5' });
  assert.equal((await ana.send('POST', '/console/v1/warnings', { kind: 'balance', amount: '5' })).status, 409);
  await setBalance('ana', '4');
  assert.equal(await check(), WARNING_LIMITS.rules.user);
  const states = async () => {
    const { rows } = await sql<{ state: string; count: number }>`
      select state, count(*)::int as count from notice_deliveries group by 1 order by 1`.execute(db());
    return rows;
  };
  await sql`
    insert into notices (user_id, id, rule_id, content) select 'ana', 'n' || i, 'r', '{}' from generate_series(1, 80) i`.execute(
    db(),
  );
  await sql`
    insert into notice_deliveries (user_id, notice_id, destination_id)
    select 'ana', n.id, d.id from notices n, warning_destinations d where n.rule_id = 'r'`.execute(db());
  await setBalance('ana', '100');
  await check();
  await setBalance('ana', '4');
  await check();
  const dropped = WARNING_LIMITS.rules.user * WARNING_LIMITS.destinations.user;
  assert.deepEqual(await states(), [
    { state: 'dropped', count: dropped },
    { state: 'pending', count: WARNING_LIMITS.waiting * WARNING_LIMITS.destinations.user },
  ]);
  await sql`update notices set created_at = now() - interval '91 days'`.execute(db());
  await jobsOf(gateway).expire();
  assert.deepEqual(await states(), []);
});

test('the worker checks and delivers by itself', async () => {
  await makeDestination();
  await setBalance('ana', '4');
  await makeRule({ kind: 'balance', amount: '5', subject: 'ana' });
  const worker = await startGateway({
    database: gateway.database,
    worker: true,
    env: { ADMIN_TOKEN, EGRESS_ALLOW: receiver.origin },
  });
  try {
    await until('the notice', () => receiver.deliveries.length === 1);
    await until('the end of the delivery', async () => (await notices())[0]?.deliveries[0]?.state === 'delivered');
  } finally {
    await worker.stop();
  }
});
