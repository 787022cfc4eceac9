import assert from 'node:assert/strict';
import { test } from 'node:test';
import { derive } from '../../core/index.ts';
import { CALLBACK_INFO } from '../../rules/index.ts';
import { callbackHeaders } from './webhook-signature.ts';

const secret = derive('sk-test', CALLBACK_INFO);

const headersOf = (timestamp: number, body: string): Record<string, string> => {
  const flat = callbackHeaders({ secret, eventId: 'evt_1', taskId: 'task_1', timestamp, body: Buffer.from(body) });
  return Object.fromEntries(flat.flatMap((name, n) => (n % 2 === 0 ? [[name, flat[n + 1] ?? '']] : [])));
};

test('V 6 r5: the secret and the signature of the published vectors', () => {
  assert.equal(secret.toString('hex'), '57b9c3ae38f9b503be5c23fd2f5c45dcec8386945fcf9df903af77e79ee35ed5');
  for (const [timestamp, body, signature] of [
    [
      1794700800,
      '{"event_id":"evt_1","type":"succeeded"}',
      '41a44ce758e8548c288ae97f238009b50d6ad6f3201e64462674fa8dbfc02862',
    ],
    [1763164800, '{"x":1}', '3bd0bdbc3cf95e5d815024a0daf62373bdae7188de718c54c5839a76a54cf411'],
  ] as const)
    assert.equal(headersOf(timestamp, body)['x-gateway-signature'], `v1=${signature}`);
});

test('V 6 r4: a callback has the headers of the gateway and of Standard Webhooks', () => {
  assert.deepEqual(headersOf(1763164800, '{"x":1}'), {
    'content-type': 'application/json',
    'x-gateway-event-id': 'evt_1',
    'x-gateway-task-id': 'task_1',
    'x-gateway-timestamp': '1763164800',
    'x-gateway-signature': 'v1=3bd0bdbc3cf95e5d815024a0daf62373bdae7188de718c54c5839a76a54cf411',
    'webhook-id': 'evt_1',
    'webhook-timestamp': '1763164800',
    'webhook-signature': 'v1,+/4Pq3qnyVYStcFI7z5l5GfOaSVgYQqefx29/404WQw=',
  });
});
