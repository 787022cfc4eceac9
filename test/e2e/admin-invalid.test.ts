// set: sweeps; every invalid value in every field of the admin API
/** Invalid values in every field and query of every operation of the admin API; a quarter of them, unless `LAWS_RUNS` is 1. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { z } from 'zod';
import { ADMIN_SCHEMAS } from '../../src/api/admin/index.ts';
import { checkLedger } from '../../src/ledger/index.ts';
import { ADMIN_OPERATIONS, type AdminOperation, adminRow } from '../../src/rules/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { sampled } from '../support/properties.ts';

let gateway: TestGateway;
const admin = adminApi(() => gateway.url);

before(async () => {
  gateway = await startGateway({ env: { ADMIN_TOKEN }, setup: basicSetup() });
});
after(async () => {
  await checkLedger(gateway.context.database.db).finally(() => gateway.stop());
});

const INVALID_TEXTS = [
  '',
  ' ',
  '0',
  '-1',
  '1e999',
  '%ff',
  '%F0%9F%90%89',
  "'--",
  '\\',
  '../..',
  '9'.repeat(400),
  '%01',
  '[]',
  'null',
  '2026-99-99',
  '9999-12-31',
  '1000-01-01T00:00:00Z',
  'WyIiXQ',
  'WyIxIiwiMSJd',
  'WyI5OTk5OTk5OTk5OTk5OTk5OTkiXQ',
  'true',
  'csv',
  'charged',
  '=1',
  'day',
];
const INVALID_VALUES: unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  '',
  ' ',
  '\u0000',
  '\ud800',
  '\u0001',
  'x'.repeat(5_000),
  [],
  [null],
  {},
  { a: 1 },
  '1',
  '-1',
  '0.000000001',
  '9999999',
  '999999999999',
  '2030-01-01T00:00:00Z',
  'ana',
  'claude',
  ['claude'],
  ['10.0.0.0/8'],
  ['*'],
  '__proto__',
];
test('admin API never returns a 5xx for an invalid query or body', async () => {
  const { body: keys } = await admin<{ data: { id: string }[] }>('GET', '/keys?user=ana');
  const ids = ['ana', keys.data[0]?.id ?? '', 'none', '%F0%9F%90%89', "'--", 'a'.repeat(500)];
  const cases: { readonly method: string; readonly path: string; readonly body?: unknown }[] = [];
  for (const operation of ADMIN_OPERATIONS) {
    const { method, path } = adminRow(operation);
    const { query: queryOf, body } = ADMIN_SCHEMAS[operation];
    const query = Object.keys(queryOf.shape);
    const fields = body instanceof z.ZodObject ? Object.keys(body.shape) : [];
    const own = (n: number) => path.slice('/admin/v1'.length).replace(/\{\w+\}/, ids[n % ids.length] ?? '');
    if (method === 'GET')
      for (const [n, name] of query.entries())
        for (const invalid of INVALID_TEXTS) cases.push({ method, path: `${own(n)}?${name}=${invalid}` });
    else
      for (const [n, value] of INVALID_VALUES.entries())
        for (const name of [...fields, 'unknown'].filter((_, at) => (at + n) % 2 === 0))
          cases.push({ method, path: own(n), body: { ...VALID_BODIES[operation], [name]: value } });
  }
  const broken: string[] = [];
  for (const { method, path, body } of sampled(cases)) {
    const { status, text } = await admin(method, path, body);
    if (status >= 500) broken.push(`${method} ${path} ${JSON.stringify(body)}: ${text}`);
  }
  assert.deepEqual(broken, []);
  assert.deepEqual(
    gateway.log.filter(({ msg }) => msg === 'request.internal_error'),
    [],
  );
});

/** Valid bodies to which one invalid value is added, so that validation reaches it. */
const VALID_BODIES: Partial<Record<AdminOperation, object>> = {
  'admin.credit': { user: 'ana', amount: '1', reason: 'invalid', reference: 'invalid' },
  'admin.createUser': { id: 'invalid' },
  'admin.changeUser': { multiplier: '1' },
  'admin.createKey': { user: 'ana', group: 'claude', name: 'invalid' },
  'admin.changeKey': { rpm: 100 },
  'admin.invitePerson': { email: 'invalid@example.test', role: 'operator' },
  'admin.resolveRecord': { amount: '1', reason: 'invalid' },
  'admin.dismissRecord': { reason: 'invalid' },
  'admin.settleReview': { tokens: 1, reason: 'invalid' },
  'admin.releaseReview': { reason: 'invalid' },
  'admin.redeliverCallback': { reason: 'invalid' },
  'admin.testCallback': { user: 'ana', task: 'task_invalid' },
  'admin.parkAccount': { reason: 'invalid' },
  'admin.drainAccount': { reason: 'invalid' },
  'admin.resumeAccount': { reason: 'invalid' },
  'admin.testAccount': { model: 'invalid' },
  'admin.changeAccount': { weight: 1 },
};
