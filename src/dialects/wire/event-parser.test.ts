import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { JsonObject } from '../hub/types.ts';
import { openEventParser } from './event-parser.ts';

const VARYING = ['text', 'count', 'pad'];
const open = () => openEventParser(VARYING, ({ calls }: JsonObject) => calls !== undefined);

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** All events go through one parser, which may keep a pattern from each. */
function assertParsed(events: readonly string[]): void {
  const parse = open();
  for (const event of events) assert.deepEqual(parse(event), parsed(event), JSON.stringify(events));
}

/** Values of the members that may vary, as JSON: plain, escaped, and such that they look like the text around them. */
const anyText = fc.oneof(
  fc.string().map((text) => JSON.stringify(text)),
  fc.constantFrom('"a"', '""', '"\\n"', '"\\""', '"\\u00e9"', '"\\\\"', '"\\ud83d"', '"é😀"', '"\\",\\"text\\":\\"x"'),
  // Not JSON, or not a text.
  fc.constantFrom('"\\x"', '"a\nb"', '"a', 'null', '1', '{"text":"inner"}', '["text"]'),
);
const anyCount = fc.oneof(
  fc.integer({ min: 1, max: 10 ** 9 }).map(String),
  fc.constantFrom('0', '-1', '1.5', '1e3', '01', '99999999999999999999', '"7"', 'true', ''),
);
const anyEvent = fc
  .tuple(anyText, anyCount, anyText, fc.constantFrom('', ' ', ',"text":"twice"', ',"calls":[]', ',"te\\u0078t":"same"'))
  .map(([text, count, pad, more]) => `{"type":"text","count":${count},"delta":{"text":${text}},"pad":${pad}${more}}`);

test('an event is read as JSON.parse reads it, whatever came before', () => {
  fc.assert(fc.property(fc.array(anyEvent, { maxLength: 12 }), assertParsed), { numRuns: 500 });
});

test('a broken or longer event is not taken for one that it begins like', () => {
  const first = '{"type":"text","count":1,"delta":{"text":"Hello"},"pad":"x"}';
  for (let at = 0; at <= first.length; at += 1) {
    assertParsed([first, first.slice(0, at), first]);
    for (const inserted of ['"', '\\', '\n', '}', ',', '9', ' ', 'é'])
      assertParsed([first, first.slice(0, at) + inserted + first.slice(at), first]);
  }
});

test('events of one form share one object, so that they cost no memory', () => {
  const parse = open();
  const event = (text: string): string => `{"delta":{"text":${JSON.stringify(text)}}}`;
  parse(event('a'));
  assert.equal(parse(event('b')), parse(event('"c"\n')));
});
