import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codecOf, fold } from '../../src/dialects/index.ts';
import { checkPromises, decodeAll } from '../../src/dialects/testbed.ts';
import { answerTo, askedBy, CROSSINGS, convert, FROM, readAs } from './crossings.ts';
import { plain } from './plain.ts';
import { law } from './runs.ts';
import { billOf, inChatOrder, sightsIn, sightsOf } from './seen.ts';
import { type Story, stories } from './story.ts';
import { told } from './wire.ts';

/** Only some of the dialects tell what went into the cache. */
const billed = ({ usage }: Story, dialects: readonly string[]) =>
  dialects.includes('generate') ? { ...usage, cacheWrite: 0 } : usage;

for (const { client, upstream, name, isOffered } of CROSSINGS) {
  test(`${name}: any answer arrives with its words, calls, order and bill, streamed as well as whole`, () => {
    law(
      stories,
      (story) => {
        const wire = told(upstream, story);
        const decoded = decodeAll(codecOf(upstream).upstream.openDecoder(FROM), wire.events);
        checkPromises(decoded);
        const reply = codecOf(upstream).upstream.decodeReply(wire.unary, FROM);
        assert.deepEqual(fold(decoded), { reply }, 'the stream folds into the whole answer');

        const request = askedBy(client);
        const { text } = convert({ client, upstream }, wire.events, request);
        const sum = readAs(client, text, request);
        assert.equal(sum.end, 'complete');
        const whole = codecOf(client).client.encodeReply(reply, answerTo(request, upstream));
        assert.deepEqual(sum.end === 'complete' && plain(client, sum.body), plain(client, whole));

        const seen = sightsOf(client, whole);
        const expected = sightsIn(upstream === 'chat' ? 'chat' : client, story);
        assert.deepEqual(upstream === 'chat' ? inChatOrder(seen) : seen, expected);
        assert.deepEqual(billOf(client, whole), billed(story, [client, upstream]));
      },
      isOffered ? 1 : 0.1,
    );
  });
}
