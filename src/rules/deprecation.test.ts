import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ADMIN_ENDPOINTS,
  CONSOLE_ENDPOINTS,
  type Deprecation,
  deprecationHeaders,
  ENDPOINTS,
  NOTICE_DAYS,
  OPERATOR_ENDPOINTS,
} from './index.ts';

const DAY_MS = 86_400_000;

test('deprecationHeaders writes the forms of RFC 9745 and RFC 8594', () => {
  const headers = deprecationHeaders({ since: '2026-01-01', sunset: '2026-07-01', instead: 'Use /v2.' });
  assert.deepEqual(headers, {
    deprecation: '@1767225600',
    sunset: 'Wed, 01 Jul 2026 00:00:00 GMT',
    link: '</docs>; rel="deprecation"; type="text/html"',
  });
});

test('G 9 r3, V 9 r3: every deprecated operation gives the notice that the policy promises', () => {
  const tables = [ENDPOINTS, OPERATOR_ENDPOINTS, ADMIN_ENDPOINTS, CONSOLE_ENDPOINTS];
  for (const [operation, row] of tables.flatMap((table) => Object.entries<{ readonly path: string }>(table))) {
    const { deprecated } = row as { readonly deprecated?: Deprecation };
    if (!deprecated) continue;
    const { since, sunset } = deprecated;
    assert.ok(Date.parse(sunset) - Date.parse(since) >= NOTICE_DAYS * DAY_MS, operation);
  }
});
