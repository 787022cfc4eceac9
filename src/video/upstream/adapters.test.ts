import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TASK_ERROR_CODES } from '../../rules/index.ts';
import { ADAPTERS, isAmbiguous, ownResultUrls, reportedIdIn } from './adapters.ts';
import { rejectionOf, taskErrorFrom } from './errors.ts';

test('V 4.2 r3: isAmbiguous decides by status for the provider, and by code for another Dragoman', () => {
  const cases: readonly (readonly [number, string, boolean, boolean])[] = [
    [302, '', true, true],
    [400, 'invalid_request', false, false],
    [408, '', true, true],
    [409, 'asset_invalid', true, false],
    [409, 'idempotency_in_progress', true, true],
    [409, 'idempotency_conflict', true, true],
    [425, '', true, true],
    [429, 'rate_limit_exceeded', false, false],
    [500, 'internal_error', true, true],
    [502, 'HTTP_502', true, true],
    [503, 'HTTP_503', true, true],
    [503, 'server_is_overloaded', true, false],
    [503, 'no_upstream_account', true, false],
  ];
  for (const [status, code, ark, dragoman] of cases) {
    assert.equal(isAmbiguous(ADAPTERS.ark, status, code), ark, `ark ${status} ${code}`);
    assert.equal(isAmbiguous(ADAPTERS.dragoman, status, code), dragoman, `dragoman ${status} ${code}`);
  }
});

test('reportedIdIn reads the id of both kinds of reports', () => {
  assert.equal(reportedIdIn({ id: 'cgt-1', status: 'queued' }), 'cgt-1');
  assert.equal(reportedIdIn({ event_id: 'evt_1', data: { id: 'task_1' } }), 'task_1');
  for (const report of [undefined, null, 'text', [], {}, { id: 7 }, { data: 'x' }, { data: { id: '' } }])
    assert.equal(reportedIdIn(report), undefined);
});

test('ownResultUrls stay on the address of the account', () => {
  const account = { baseUrl: 'https://example.com/gateway' };
  assert.deepEqual(ownResultUrls(account, 'task_1'), {
    video: 'https://example.com/gateway/v1/videos/task_1/content',
    lastFrame: 'https://example.com/gateway/v1/videos/task_1/last-frame',
  });
  assert.ok(ownResultUrls(account, '../x?y').video.startsWith('https://example.com/gateway/v1/videos/..%2Fx%3Fy/'));
});

test('V 2: the codes of a failed task at another Dragoman are kept', () => {
  for (const code of TASK_ERROR_CODES.filter((one) => !/expired|cancelled/.test(one))) {
    const original = taskErrorFrom({ code, message: '' });
    assert.equal(original.code, code);
    assert.deepEqual(taskErrorFrom(original), original);
  }
  const privacy = taskErrorFrom({
    code: 'InputImageSensitiveContentDetected.PrivacyInformation',
    message: 'content[2] may show a person',
  });
  assert.deepEqual(taskErrorFrom(privacy), privacy, 'with the item and the hint');
});

test('V 4.2 r4: rejections of another Dragoman keep their meaning', () => {
  const kindOf = (status: number, code: string) => rejectionOf({ status, code, message: '', param: undefined });
  assert.deepEqual(kindOf(400, 'unsupported_video_parameter'), {
    kind: 'request',
    code: 'unsupported_video_parameter',
  });
  assert.deepEqual(kindOf(400, 'invalid_request'), { kind: 'request', code: 'invalid_request' });
  assert.deepEqual(kindOf(404, 'asset_not_found'), { kind: 'request', code: 'asset_invalid' });
  assert.deepEqual(kindOf(429, 'rate_limit_exceeded'), { kind: 'rate_limited' });
  assert.deepEqual(kindOf(503, 'server_is_overloaded'), { kind: 'rate_limited' });
  for (const [status, code] of [
    [401, 'invalid_api_key'],
    [402, 'insufficient_balance'],
    [403, 'model_not_allowed'],
    [404, 'model_not_found'],
    [409, 'asset_route_group_misconfigured'],
    [503, 'no_upstream_account'],
  ] as const)
    assert.deepEqual(kindOf(status, code), { kind: 'account' }, code);
  const transient = kindOf(409, 'asset_not_ready');
  assert.ok(transient.kind === 'request' && transient.isTransient, 'V 8: not recorded for a replay');
});
