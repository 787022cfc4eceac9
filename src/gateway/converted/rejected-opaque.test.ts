import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { codecOf, type HubRequest } from '../../dialects/index.ts';
import { RejectedOpaques } from './rejected-opaque.ts';

const carrying = (...signatures: readonly string[]): HubRequest =>
  codecOf('messages').client.decodeRequest(
    {
      model: 'm',
      max_tokens: 10,
      messages: [
        { role: 'user', content: 'hi' },
        {
          role: 'assistant',
          content: signatures.map((signature) => ({ type: 'thinking', thinking: 'So.', signature })),
        },
        { role: 'user', content: 'go on' },
      ],
    },
    { headers: {} },
  );

test('rejected opaques are stripped with their reasoning, others stay', () => {
  const rejected = new RejectedOpaques(new FakeClock());
  const both = carrying('one', 'two');
  assert.equal(rejected.strip(both), both);
  rejected.add(carrying('one'));
  assert.deepEqual(rejected.strip(both), { ...carrying('two'), omitsThoughts: true });
  const other = carrying('three');
  assert.equal(rejected.strip(other), other);
});

test('rejected opaques evict the least recently seen', () => {
  const rejected = new RejectedOpaques(new FakeClock());
  rejected.add(carrying('first'));
  rejected.add(carrying('second'));
  rejected.strip(carrying('first'));
  rejected.add(carrying(...Array.from({ length: 19_999 }, (_, n) => `n${n}`)));
  assert.equal(rejected.strip(carrying('second')).items.length, 3, 'forgotten');
  assert.equal(rejected.strip(carrying('first')).items.length, 2);
});

test('rejected opaques are sent again after ten minutes, however often they were seen meanwhile', () => {
  const clock = new FakeClock();
  const rejected = new RejectedOpaques(clock);
  rejected.add(carrying('one'));
  clock.advance(9 * 60_000);
  assert.equal(rejected.strip(carrying('one')).items.length, 2);
  clock.advance(60_000);
  assert.equal(rejected.strip(carrying('one')).items.length, 3);
});
