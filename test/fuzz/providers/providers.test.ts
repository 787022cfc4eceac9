/** The short form of `npm run fuzz -- providers`: the cases that once failed, and one of each way from a client to a provider. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { ProviderCase } from './case.ts';
import { checkCase } from './check.ts';
import { Stage, StageLane } from './stage.ts';

const CORPUS = JSON.parse(readFileSync(new URL('corpus.json', import.meta.url), 'utf8')) as readonly ProviderCase[];

let stage: Stage;
before(async () => {
  stage = await Stage.open();
});
after(() => stage.close());

test('clients get the whole reply once, or one error, and pay what was reported, whatever the manners of a provider', async () => {
  const ids = new Map<string, number>();
  const failures = await Promise.all(
    CORPUS.map(async (one, number) => {
      const failure = await checkCase(one, { lane: new StageLane(stage), ids, number });
      return failure === undefined ? [] : [`${JSON.stringify(one)}: ${failure}`];
    }),
  );
  assert.deepEqual(failures.flat(), []);
});
