import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Account } from '../../catalog/index.ts';
import type { HubEvent, HubItem, HubRequest, HubStop, HubUsage } from '../../dialects/index.ts';
import { ReplyRounds, type RoundEnd } from './rounds.ts';

const ACCOUNT = { id: 'a' } as Account;
const item = (text: string): HubItem => ({ kind: 'message', role: 'assistant', parts: [{ kind: 'text', text }] });
const usage = (input: number, output: number): HubUsage => ({ input, output, cacheRead: 0, cacheWrite: 0 });

const end = (stop: HubStop, more: Partial<RoundEnd> = {}): RoundEnd => ({
  stop,
  items: [],
  usage: usage(1, 1),
  account: ACCOUNT,
  ...more,
});

test('rounds continue after a pause, and only four times', () => {
  const rounds = new ReplyRounds();
  for (let round = 1; round <= 4; round += 1) assert.equal(rounds.continueAfter(end('pause')), true, `round ${round}`);
  assert.equal(rounds.continueAfter(end('pause')), false, 'the fifth round is the last');
  assert.equal(new ReplyRounds().continueAfter(end('end')), false);
});

test('rounds continue with the token of the round before, and only three times', () => {
  const rounds = new ReplyRounds();
  const request = { items: [item('asked')] } as unknown as HubRequest;
  for (const token of ['one', 'two', 'three']) {
    assert.equal(rounds.continueAfter(end('continuation', { continuationToken: token, items: [item('x')] })), true);
    assert.deepEqual(rounds.requestFor(request), { ...request, continuationToken: token });
  }
  assert.equal(rounds.continueAfter(end('continuation', { continuationToken: 'four' })), false);
  assert.equal(new ReplyRounds().continueAfter(end('continuation')), false, 'nothing to continue with');
});

test('rounds repeat a malformed call once and without a charge', () => {
  const rounds = new ReplyRounds();
  assert.equal(rounds.repeatAfter('end'), false);
  assert.equal(rounds.repeatAfter('malformed_call'), true);
  assert.equal(rounds.repeatAfter('malformed_call'), false);
  assert.equal(rounds.spent, undefined);
});

test('rounds return events of the first round unchanged', () => {
  const rounds = new ReplyRounds();
  const event: HubEvent = { kind: 'finish', stop: 'end', usage: usage(3, 4) };
  assert.equal(rounds.renumber(event), event);
  assert.equal(rounds.spent, undefined);
});

test('rounds number the items of a later round on and send its start only once', () => {
  const rounds = new ReplyRounds();
  rounds.renumber({ kind: 'start', id: 'r1', model: 'm' } as HubEvent);
  rounds.continueAfter(end('pause', { items: [item('one'), item('two')], usage: usage(10, 5) }));
  assert.equal(rounds.renumber({ kind: 'start', id: 'r2', model: 'm' } as HubEvent), undefined);
  assert.deepEqual(rounds.renumber({ kind: 'text', index: 0, part: 0, text: 'x' } as HubEvent), {
    kind: 'text',
    index: 2,
    part: 0,
    text: 'x',
  });
  const finish = rounds.renumber({ kind: 'finish', stop: 'end', usage: usage(20, 7) });
  assert.deepEqual(finish?.kind === 'finish' && finish.usage, { ...usage(30, 12), longestPrompt: 20 });
});

test('rounds merge a unary reply with the rounds before it', () => {
  const rounds = new ReplyRounds();
  rounds.continueAfter(end('pause', { items: [item('one')], omitted: ['container'], usage: usage(10, 5) }));
  const merged = rounds.merge({ id: 'r', model: 'm', items: [item('two')], stop: 'end', usage: usage(20, 7) });
  assert.deepEqual(merged.omitted, ['container']);
  assert.deepEqual(merged.items, [item('one'), item('two')]);
  assert.deepEqual(merged.usage, { ...usage(30, 12), longestPrompt: 20 });
});

test('rounds keep the usage and the account of the completed rounds, for a reply that is abandoned', () => {
  const rounds = new ReplyRounds();
  rounds.continueAfter(end('pause', { items: [item('one')], usage: usage(10, 5) }));
  rounds.continueAfter(end('pause', { items: [item('two')], usage: usage(20, 7), account: { id: 'b' } as Account }));
  assert.deepEqual(rounds.spent?.usage, { ...usage(30, 12), longestPrompt: 20 });
  assert.equal(rounds.spent?.account.id, 'b');
  assert.deepEqual(rounds.usageWith(usage(1, 1)), { ...usage(31, 13), longestPrompt: 20 });
});
