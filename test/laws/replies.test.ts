import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { codecOf, convertReply, fold } from '../../src/dialects/index.ts';
import { checkPromises, decodeAll } from '../support/dialects/codecs.ts';
import { answerTo, askedBy, CROSSINGS, convert, FROM, NOTHING_ENCODED, pairOf, readAs } from './dialect-pairs.ts';
import { plain } from './normalize.ts';
import { type Block, type Story, stories } from './reply-arbitrary.ts';
import { billOf, inChatOrder, sightsIn, sightsOf } from './reply-view.ts';
import { law } from './runs.ts';
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

// ---------------------------------------------------------------- stop sequences that no field asks for

const sequences = fc.uniqueArray(fc.constantFrom('a', 'ok.', 'The', '\n', '[DONE]', '😀', 'ae', '"}', 'x'), {
  minLength: 1,
  maxLength: 3,
});

/** The story up to the first sequence in a text; what follows was never told. */
function upTo(stops: readonly string[], story: Story): Story {
  const blocks: Block[] = [];
  for (const block of story.blocks) {
    const at = block.kind === 'text' ? stops.map((stop) => block.text.indexOf(stop)).filter((place) => place >= 0) : [];
    if (block.kind !== 'text' || at.length === 0) {
      blocks.push(block);
      continue;
    }
    blocks.push({ ...block, text: block.text.slice(0, Math.min(...at)) });
    break;
  }
  return { ...story, blocks };
}

for (const crossing of CROSSINGS.filter(({ upstream }) => upstream === 'responses')) {
  const { client, upstream, name } = crossing;
  test(`${name}: a text ends before its first stop sequence, however the pieces fall, streamed as well as whole`, () => {
    law(
      fc.tuple(stories, sequences),
      ([story, stops]) => {
        const wire = told(upstream, story);
        const request = askedBy(client);
        const encoded = { ...NOTHING_ENCODED, emulateStop: stops };
        const sum = readAs(client, convert(crossing, wire.events, request, encoded).text, request);
        const whole = convertReply(pairOf(crossing), encoded, wire.unary, FROM, answerTo(request, upstream)).body;
        assert.deepEqual(sum.end === 'complete' && plain(client, sum.body), plain(client, whole));
        assert.deepEqual(sightsOf(client, whole), sightsIn(client, upTo(stops, story)));
      },
      0.5,
    );
  });
}
