import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Cell, ENDPOINTS, type EndpointRow, OPERATIONS, STYLES, type Style } from '../../src/rules/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';

const GROUP: Record<Style, string> = { responses: 'openai', messages: 'claude', 'generate-content': 'gemini' };

let gateway: TestGateway;
let keys: Record<string, string>;

before(async () => {
  gateway = await startGateway();
  keys = await gateway.apply(basicSetup());
});
after(() => gateway.stop());

const pathOf = (path: string): string => path.replaceAll(/\{\w+\}/g, 'demo-x');

async function send(
  row: EndpointRow,
  path: string,
  key?: string,
): Promise<{ status: number; headers: Headers; body: unknown }> {
  const response = await fetch(gateway.url + pathOf(path), {
    method: row.method,
    headers: {
      ...(key && { authorization: `Bearer ${key}` }),
      ...(row.body !== 'none' && { 'content-type': 'application/json' }),
    },
    ...(row.body !== 'none' && { body: '{"model":"demo-x"}' }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
}

/** The stable code, wherever the dialect of the path puts it. */
function codeOf(row: EndpointRow, body: unknown): unknown {
  const { error } = body as {
    error: { code: unknown; details?: { reason?: string }[]; type?: string; status?: string; message: string };
  };
  assert.ok(error.message.length > 10, 'an error says something');
  if (row.errorFormat === 'generate') {
    assert.equal(typeof error.status, 'string');
    return error.details?.[0]?.reason;
  }
  assert.equal(typeof error.type, 'string');
  if (row.errorFormat === 'messages') assert.equal((body as { type: string }).type, 'error');
  return error.code;
}

for (const operation of OPERATIONS) {
  const row: EndpointRow = ENDPOINTS[operation];
  for (const path of row.alias ? [row.path, row.alias] : [row.path]) {
    test(`${row.method} ${path} without a key is 401 in the dialect of the path`, async () => {
      const { status, headers, body } = await send(row, path);
      assert.equal(status, 401);
      assert.equal(codeOf(row, body), 'invalid_api_key');
      assert.match(headers.get('x-request-id') ?? '', /^req_/);
    });
    if (!('groups' in row)) continue;
    for (const style of STYLES) {
      const cell: Cell = row.groups[style];
      test(`[S77] ${row.method} ${path} with a ${style} key is ${cell.kind === 'refuse' ? 'refused' : 'not refused'}`, async () => {
        const { status, body } = await send(row, path, keys[GROUP[style]]);
        if (cell.kind === 'refuse') {
          assert.equal(status, 404);
          assert.equal(codeOf(row, body), 'endpoint_not_supported');
          assert.ok(JSON.stringify(body).includes(GROUP[style]), 'names the group');
        } else if (status >= 400) {
          assert.notEqual(codeOf(row, body), 'endpoint_not_supported');
        }
      });
    }
  }
}
