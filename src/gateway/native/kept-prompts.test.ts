import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { StepBudget } from '../../core/index.ts';
import { BodyBudget } from '../../platform/web/index.ts';
import { KEPT_PROMPTS } from '../../rules/index.ts';
import { KeptPrompts } from './kept-prompts.ts';
import { scanNative } from './scan.ts';

const MIB = 2 ** 20;
const OWNER = 'key-1 messages.create messages';

/** The prompt of a session after so many turns. */
const promptOf = (session: string, turns: number, chars = 4_000): Buffer =>
  Buffer.from(
    JSON.stringify({
      model: 'm',
      messages: Array.from({ length: turns }, (_, n) => ({
        role: 'user',
        content: `${session} ${n} ${'x'.repeat(chars)}`,
      })),
    }),
  );

function open(maxBytes = 16 * MIB, bodyBytes = 64 * MIB) {
  const clock = new FakeClock();
  const budget = new BodyBudget(bodyBytes, bodyBytes);
  const prompts = new KeptPrompts({ clock, bodyBudget: budget, maxBytes });
  /** Turns that are known of the prompt, which is kept then. */
  const send = (body: Buffer, owner = OWNER): number | undefined => {
    const begun = prompts.beginning(owner, body);
    if (!begun) return undefined;
    const { trail } = scanNative(
      {
        operation: 'messages.create',
        dialect: 'messages',
        bytes: body,
        trail: begun.trail,
      },
      new StepBudget(),
    );
    if (trail) prompts.keep(begun, body, trail);
    return begun.trail.marks.at(-1)?.index ?? 0;
  };
  return { clock, budget, prompts, send };
}

test('the next turn of each session is known up to its new part, to the same key only', () => {
  const { send, prompts } = open();
  for (const session of ['a', 'b']) assert.equal(send(promptOf(session, 20)), 0);
  for (const session of ['b', 'a']) assert.equal(send(promptOf(session, 22)), 19);
  assert.equal(send(promptOf('a', 24)), 21);
  assert.equal(send(promptOf('a', 24), 'key-2 messages.create messages'), 0);
  // One for each session and key.
  assert.equal(
    prompts.bytes,
    [22, 24, 24].reduce((sum, turns) => sum + promptOf('a', turns).buffer.byteLength, 0),
  );
});

test('they are given up after minutes, one by one', () => {
  const { clock, prompts, send } = open();
  send(promptOf('a', 20));
  clock.advance(KEPT_PROMPTS.ms / 2);
  send(promptOf('b', 20));
  clock.advance(KEPT_PROMPTS.ms / 2);
  assert.equal(send(promptOf('b', 21)), 19);
  clock.advance(KEPT_PROMPTS.ms);
  assert.equal(prompts.bytes, 0);
  assert.equal(send(promptOf('b', 22)), 0);
});

test('they are bounded for each key and in all, the oldest go first, and small or huge prompts are not kept', () => {
  const { prompts, send } = open(MIB);
  for (let n = 0; n < 40; n += 1) send(promptOf(`s${n}`, 20), `key-${n % 3}`);
  assert.ok(prompts.bytes > MIB / 2 && prompts.bytes <= MIB);
  assert.equal(send(promptOf('s0', 21), 'key-0'), 0);
  const { prompts: many, send: sendMany } = open();
  for (let n = 0; n < 40; n += 1) sendMany(promptOf(`s${n}`, 20));
  assert.equal(many.bytes, KEPT_PROMPTS.perKey * promptOf('s39', 20).buffer.byteLength);
  assert.equal(sendMany(promptOf('a', 2)), undefined);
  assert.equal(sendMany(promptOf('a', 3, MIB)), undefined);
});

test('bodies take their memory back', () => {
  const { budget, prompts, send } = open(16 * MIB, MIB);
  for (let n = 0; n < 5; n += 1) send(promptOf(`s${n}`, 20));
  assert.ok(prompts.bytes > 0);
  const body = budget.open('key-1');
  body.add(MIB - 1);
  assert.equal(prompts.bytes, 0);
  assert.equal(send(promptOf('s0', 20)), 0);
  assert.equal(prompts.bytes, 0);
  body.release();
});

test('a size of 0 keeps none', () => {
  const { send } = open(0);
  assert.equal(send(promptOf('a', 20)), undefined);
});
