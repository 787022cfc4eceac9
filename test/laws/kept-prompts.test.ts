/** A prompt that goes on from a kept one is read as if nothing had been kept. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { commonTrail, type ScanTrail, StepBudget } from '../../src/core/index.ts';
import { bytesFor } from '../../src/gateway/native/request.ts';
import { type NativeScan, scanNative } from '../../src/gateway/native/scan.ts';
import type { Dialect, InferenceOperation } from '../../src/rules/index.ts';
import { bodyOf, conversations } from './conversation-arbitrary.ts';
import { DIALECTS } from './dialect-pairs.ts';
import { law } from './runs.ts';
import { readConversions } from './vector.ts';

type Json = Record<string, unknown>;

const OPERATIONS: Readonly<Record<Dialect, InferenceOperation>> = {
  messages: 'messages.create',
  chat: 'chat.create',
  responses: 'responses.create',
  generate: 'generate.create',
};
const TURNS: Readonly<Record<Dialect, string>> = {
  messages: 'messages',
  chat: 'messages',
  responses: 'input',
  generate: 'contents',
};
const NOTHING: ScanTrail = { marks: [], tagged: [] };

/** Everything that the gateway takes from a body, or how it refuses it. */
function outcome(dialect: Dialect, bytes: Buffer, trail?: ScanTrail): { readonly seen: unknown; trail?: ScanTrail } {
  try {
    const { trail: next, ...scan } = scanNative(
      { operation: OPERATIONS[dialect], dialect, bytes, trail },
      new StepBudget(),
    );
    const body = scan.cut ? Buffer.from(scan.cut) : bytes;
    const sent = bytesFor(body, scan as NativeScan, ['another-model', dialect === 'chat', []]).toString('latin1');
    return { seen: { scan, sent }, ...(next && { trail: next }) };
  } catch (error) {
    return { seen: String(error) };
  }
}

/** Scans the bodies one after the other, each with what the one before left. Returns how many bytes were not scanned again. */
function checkTurns(dialect: Dialect, bodies: readonly Buffer[]): number {
  let saved = 0;
  let kept: { readonly body: Buffer; readonly trail: ScanTrail } | undefined;
  for (const body of bodies) {
    const trail = kept && commonTrail(kept.trail, kept.body, body);
    saved += trail?.marks.at(-1)?.at ?? 0;
    const { seen, trail: next } = outcome(dialect, body, trail ?? NOTHING);
    assert.deepEqual(seen, outcome(dialect, body).seen);
    if (next) kept = { body, trail: next };
  }
  return saved;
}

const bytesOf = (body: unknown): Buffer => Buffer.from(JSON.stringify(body));
const turnsOf = (dialect: Dialect, body: Json): readonly Json[] => {
  const turns = body[TURNS[dialect]];
  return Array.isArray(turns) ? turns : [];
};
const withTurns = (dialect: Dialect, body: Json, turns: readonly unknown[]): Json => ({
  ...body,
  [TURNS[dialect]]: turns,
});

/** What clients do to a conversation between two turns, and what nobody should. */
const EDITS: Readonly<Record<string, (dialect: Dialect, body: Json, at: number) => unknown>> = {
  nothing: (_, body) => body,
  'a turn more': (dialect, body, at) => {
    const turns = turnsOf(dialect, body);
    return withTurns(dialect, body, [...turns, turns[at % Math.max(1, turns.length)]]);
  },
  'a turn less': (dialect, body, at) => withTurns(dialect, body, turnsOf(dialect, body).toSpliced(at, 1)),
  'the last turns gone': (dialect, body, at) => withTurns(dialect, body, turnsOf(dialect, body).slice(0, at)),
  'a moved cache mark': (dialect, body, at) =>
    withTurns(
      dialect,
      body,
      turnsOf(dialect, body).map((turn, n) => (n === at ? { ...turn, cache_control: { type: 'ephemeral' } } : turn)),
    ),
  'a member that is not known': (dialect, body, at) =>
    withTurns(
      dialect,
      body,
      turnsOf(dialect, body).toSpliced(at, 0, { role: 'user', content: 'x', unheard_of: { a: 1 } }),
    ),
  'an object of the account': (dialect, body, at) =>
    withTurns(
      dialect,
      body,
      turnsOf(dialect, body).toSpliced(at, 0, {
        type: 'item_reference',
        id: 'msg_1',
        fileData: { fileUri: 'files/1' },
      }),
    ),
  'an envelope': (dialect, body, at) =>
    withTurns(
      dialect,
      body,
      turnsOf(dialect, body).toSpliced(at, 0, {
        ...{ type: 'reasoning', encrypted_content: 'gw1.abc', role: 'assistant' },
        content: [
          { type: 'thinking', thinking: 'hm', signature: 'gw1.abc' },
          { type: 'text', text: 'gw' },
        ],
      }),
    ),
  'other tools': (_, body) => ({ ...body, tools: [] }),
  'another order': (_, body) => Object.fromEntries(Object.entries(body).reverse()),
  'the list twice': (dialect, body) => `${JSON.stringify(body).slice(0, -1)},"${TURNS[dialect]}":[]}`,
  'another byte': (_, body, at) => {
    const bytes = bytesOf(body);
    bytes[(at * 37) % bytes.length] = at % 2 === 0 ? 0x22 : 0xff;
    return bytes;
  },
  'an early end': (_, body, at) => bytesOf(body).subarray(0, -1 - at),
};
const edited = (dialect: Dialect, body: Json, [name, at]: readonly [string, number]): unknown =>
  EDITS[name]?.(dialect, body, at);
const isJson = (body: unknown): boolean => typeof body === 'object' && !Buffer.isBuffer(body);
const asBytes = (body: unknown): Buffer =>
  Buffer.isBuffer(body) ? body : typeof body === 'string' ? Buffer.from(body) : bytesOf(body);

const edits = fc.array(fc.tuple(fc.constantFrom(...Object.keys(EDITS)), fc.nat({ max: 12 })), { maxLength: 6 });

describe('a prompt that goes on from a kept one', () => {
  for (const dialect of DIALECTS)
    test(`${dialect}: is read as a whole one, whatever the client has changed`, () => {
      law(
        fc.tuple(conversations, edits),
        ([conversation, changes]) => {
          const bodies: unknown[] = [bodyOf(dialect, conversation)];
          for (const change of changes) {
            const newest = bodies.findLast((body) => isJson(body)) as Json;
            bodies.push(edited(dialect, newest, change));
          }
          checkTurns(dialect, bodies.map(asBytes));
        },
        0.5,
      );
    });

  test('every recorded request, turn by turn', () => {
    let saved = 0;
    for (const { client, request } of readConversions()) {
      if (!request) continue;
      const turns = turnsOf(client, request as Json);
      const bodies = turns.map((_, n) => bytesOf(withTurns(client, request as Json, turns.slice(0, n + 1))));
      saved += checkTurns(client, [...bodies, bytesOf(request)]);
    }
    assert.ok(saved > 0);
  });

  for (const dialect of DIALECTS)
    test(`${dialect}: only its new part is scanned`, () => {
      const turn = (n: number): Json => ({
        role: 'user',
        ...(dialect === 'generate' ? { parts: [{ text: `turn ${n}` }] } : { content: `turn ${n}` }),
      });
      const bodyWith = (count: number): Buffer =>
        bytesOf({ model: 'm', [TURNS[dialect]]: Array.from({ length: count }, (_, n) => turn(n)), max_tokens: 9 });
      const [before, after] = [bodyWith(40), bodyWith(42)];
      const { trail } = outcome(dialect, before, NOTHING);
      const common = trail && commonTrail(trail, before, after);
      assert.equal(common?.marks.at(-1)?.index, 39);
      assert.equal(commonTrail(trail ?? NOTHING, before, bytesOf({ model: 'n' })), undefined);
    });

  test('nothing is kept of a prompt in which something must be looked for as a whole', () => {
    const trailOf = (turn: Json): unknown => outcome('responses', bytesOf({ input: [turn, turn] }), NOTHING).trail;
    assert.ok(trailOf({ role: 'user', content: 'x' }));
    assert.equal(trailOf({ role: 'user', content: 'gw1.x' }), undefined);
    assert.equal(trailOf({ type: 'item_reference', id: 'msg_1' }), undefined);
  });

  /** One turn below a limit, at it, and beyond it. */
  const LIMITED: Readonly<Record<string, readonly [turns: number, turn: unknown]>> = {
    turns: [10_000, { role: 'user', content: 'x' }],
    parts: [400, { role: 'user', content: Array(50).fill({ type: 'text', text: 'x' }) }],
    values: [
      1_999,
      { role: 'user', content: 'x', ...Object.fromEntries(Array.from({ length: 48 }, (_, n) => [`m${n}`, n])) },
    ],
  };
  for (const [name, [count, turn]] of Object.entries(LIMITED))
    test(`counts its ${name} from the beginning`, () => {
      const bodies = [-1, 0, 1].map((more) => bytesOf({ messages: Array(count + more).fill(turn), max_tokens: 9 }));
      assert.ok(checkTurns('messages', bodies) > 0);
      const [, within, beyond] = bodies.map((body) => outcome('messages', body).seen);
      assert.equal(typeof within, 'object');
      assert.match(String(beyond), /more than/);
    });
});
