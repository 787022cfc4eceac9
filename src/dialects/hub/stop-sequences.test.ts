import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { runs } from '../../../test/support/properties.ts';
import { fold, unfold } from './fold.ts';
import { cutReply, StopCutter } from './stop-sequences.ts';
import { type HubEvent, type HubItem, type HubPart, type HubReply, NO_USAGE } from './types.ts';

const USAGE = { ...NO_USAGE, output: 9 };
const message = (...parts: (string | HubPart)[]): HubItem => ({
  kind: 'message',
  role: 'assistant',
  parts: parts.map((part) => (typeof part === 'string' ? { kind: 'text', text: part } : part)),
});
const call = (args: string): HubItem => ({ kind: 'tool_call', callId: 'c', name: 'f', form: 'function', args });
const reply = (...items: HubItem[]): HubReply => ({ id: 'r', model: 'm', items, stop: 'end', usage: USAGE });
const cut = (sequence: string, ...items: HubItem[]): HubReply => ({
  ...reply(...items),
  stop: 'stop_sequence',
  stopSequence: sequence,
});
const open = (index: number, item = message()): HubEvent => ({ kind: 'item', index, item });
const text = (index: number, value: string, part = 0): HubEvent => ({ kind: 'text', index, part, text: value });
const finish: HubEvent = { kind: 'finish', stop: 'end', usage: USAGE };

test('StopCutter holds text back that may begin a sequence and sends it when it does not', () => {
  const cutter = new StopCutter(['END']);
  cutter.push(open(0));
  assert.deepEqual(cutter.push(text(0, 'one E')), [text(0, 'one')]);
  assert.deepEqual(cutter.push(text(0, 'N')), [text(0, ' ')]);
  assert.deepEqual(cutter.push(text(0, 'ough')), [text(0, 'ENou')]);
  const end: HubEvent = { kind: 'item_end', index: 0, item: message('one ENough') };
  assert.deepEqual(cutter.push(end), [text(0, 'gh'), end]);
  assert.equal(cutter.isCut, false);
});

test('StopCutter cuts at a sequence split over deltas and closes open items in order', () => {
  const cutter = new StopCutter(['END']);
  for (const event of [open(1), open(0, call('')), { kind: 'args', index: 0, text: '{"a":1}' }] as const)
    cutter.push(event);
  cutter.push(text(1, 'before E'));
  assert.deepEqual(cutter.push(text(1, 'ND after')), [
    text(1, ' '),
    { kind: 'item_end', index: 0, item: call('{"a":1}') },
    { kind: 'item_end', index: 1, item: message('before ') },
  ]);
  assert.equal(cutter.isCut, true);
});

test('StopCutter sends only the finish or an error after a match', () => {
  const cutter = new StopCutter(['END']);
  for (const event of [open(0), text(0, 'END')]) cutter.push(event);
  const ignored: HubEvent[] = [text(0, 'more'), open(1), { kind: 'item_end', index: 0, item: message('more') }];
  assert.deepEqual(
    ignored.flatMap((event) => cutter.push(event)),
    [],
  );
  const error: HubEvent = { kind: 'error', error: { code: 'upstream_error', message: 'x' } };
  assert.deepEqual(cutter.push(error), [error]);
  assert.deepEqual(cutter.push(finish), [{ kind: 'finish', stop: 'stop_sequence', stopSequence: 'END', usage: USAGE }]);
});

test('StopCutter does not match across parts, and not in reasoning or arguments', () => {
  const items = [message('E', 'ND'), { kind: 'reasoning', summary: ['END'] } as const, call('{"x":"END"}')];
  const cutter = new StopCutter(['END']);
  assert.deepEqual(fold(unfold(reply(...items)).flatMap((event) => cutter.push(event))), { reply: reply(...items) });
});

test('cutReply cuts at the earliest of several sequences and drops later items', () => {
  const items = [message('a', 'one STOP two END'), call('{}')];
  assert.deepEqual(cutReply(reply(...items), ['END', 'STOP']), cut('STOP', message('a', 'one ')));
});

test('cutReply drops a message that is empty after the cut', () => {
  assert.deepEqual(cutReply(reply(message('kept'), message('END')), ['END']), cut('END', message('kept')));
});

test('cutReply returns a reply without a match unchanged', () => {
  const whole = reply(message('text'), { kind: 'reasoning', summary: ['END'] });
  assert.equal(cutReply(whole, ['END']), whole);
});

test('cutReply drops citations of removed text and the mark of an incomplete message', () => {
  const note = (start: number, end: number) => ({ start, end, url: 'https://example.org', title: 't' });
  const part: HubPart = { kind: 'text', text: 'abc END def', annotations: [note(0, 3), note(8, 11)] };
  const whole = reply({ kind: 'message', role: 'assistant', parts: [part], incomplete: true });
  assert.deepEqual(
    cutReply(whole, ['END']),
    cut('END', message({ kind: 'text', text: 'abc ', annotations: [note(0, 3)] })),
  );
});

test('cutReply stops at the sequence that ends first, the longest of several', () => {
  const stopAt = (text: string, stops: readonly string[]) => cutReply(reply(message(text)), stops);
  assert.deepEqual(stopAt('abcd', ['bcd', 'c']), cut('c', message('ab')));
  assert.deepEqual(stopAt('abcd', ['c', 'bc']), cut('bc', message('a')));
});

test('StopCutter gives the same reply as cutReply for any split of the text into deltas', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 12 });
  const sequences = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 2, maxLength: 3 }), {
    minLength: 1,
    maxLength: 3,
  });
  fc.assert(
    fc.property(fc.array(letters, { minLength: 1, maxLength: 6 }), sequences, (deltas, stops) => {
      const whole = reply(message(deltas.join('')));
      const cutter = new StopCutter(stops);
      const events: HubEvent[] = [
        { kind: 'start', id: 'r', model: 'm' },
        open(0),
        ...deltas.map((delta) => text(0, delta)),
        { kind: 'item_end', index: 0, item: message(deltas.join('')) },
        finish,
      ];
      const folded = fold(events.flatMap((event) => cutter.push(event)));
      const expected = cutReply(whole, stops);
      assert.ok('reply' in folded);
      const texts = (one: HubReply) =>
        one.items.flatMap((item) =>
          item.kind === 'message' ? item.parts.map((part) => ('text' in part ? part.text : '')) : [],
        );
      assert.equal(texts(folded.reply).join(''), texts(expected).join(''));
      assert.equal(folded.reply.stop, expected.stop);
      assert.equal(folded.reply.stopSequence, expected.stopSequence);
    }),
    { numRuns: runs(500) },
  );
});
