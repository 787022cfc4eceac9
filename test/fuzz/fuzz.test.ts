/** The short form of `npm run fuzz -- http`: the whole corpus, and some thousand messages of a fixed seed. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { loadCorpus, textOf } from './corpus.ts';
import { Judge } from './judge.ts';
import { runCorpus, runRange } from './run.ts';
import { readRequests, readResponse } from './subject.ts';

const SEED = 1;
const COUNT = 2_000;
/** Fewer would mean that the mutations destroy every message, or change nothing. */
const MIN_SHARE = 0.05;

const corpus = loadCorpus();
const judge = new Judge();
after(() => judge.close());

test('the corpus is read as Node reads it, or rejected, in any parts and at a linear cost', async () => {
  const { failures, messages } = await runCorpus(corpus, SEED, judge);
  assert.deepEqual(failures, []);
  assert.equal(messages, corpus.length);
});

test('each message of the corpus is accepted or rejected as its entry says', () => {
  for (const { side, about, parts, ...expected } of corpus) {
    const text = textOf({ parts });
    const reading = side === 'requests' ? readRequests([text]) : undefined;
    const response = side === 'responses' ? readResponse([text]).response : undefined;
    const read = reading ? reading.bodies.length : response ? 1 : 0;
    const isRejected = reading ? reading.isRejected : response === undefined;
    assert.deepEqual(
      { read, isRejected },
      { read: expected.read, isRejected: expected.isRejected },
      `${side}: ${about}`,
    );
  }
});

for (const side of ['requests', 'responses'] as const)
  test(`generated ${side} are read as Node reads them, or rejected`, async () => {
    const figures = await runRange({ side, seed: SEED, first: 0, count: COUNT }, [corpus, judge], () => {});
    assert.deepEqual(figures.failures, []);
    const share = figures.accepted / figures.messages;
    assert.ok(share > MIN_SHARE && share < 1 - MIN_SHARE, `${share} are accepted`);
  });
