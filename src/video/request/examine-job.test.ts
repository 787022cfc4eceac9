import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { dataUrl, FILLED, IMAGE_STARTS, imageItem, taskBody, verdictOf } from '../../../test/support/video-request.ts';
import { systemClock } from '../../core/index.ts';
import { ThreadPool } from '../../platform/threads/index.ts';
import { sheetOf } from '../../rules/index.ts';
import { examineTaskBody } from './examine.ts';
import { examineJob } from './examine-job.ts';
import { fillTemplate } from './upstream-template.ts';

const threads = new ThreadPool({ clock: systemClock });
after(() => threads.close());

const TARGET = { sheet: sheetOf('A') };
const largeBody = (more: object = {}): Buffer => {
  const image = Buffer.concat([IMAGE_STARTS.png ?? Buffer.alloc(0), Buffer.alloc(2 ** 21)]);
  const content = [imageItem(undefined, dataUrl('image/png', image))];
  return Buffer.from(JSON.stringify(taskBody({ content, ...more })));
};
const examine = (bytes: Buffer) =>
  threads.run(
    examineJob,
    { bytes, entry: 'tasks', target: TARGET },
    { key: { id: 'one', userId: 'ana' }, bytes: bytes.length },
  );

test('a small body is examined at once', () => {
  const examination = examine(Buffer.from(JSON.stringify(taskBody())));
  assert.ok(!(examination instanceof Promise));
  assert.equal(verdictOf(examination).error, undefined);
});

test('a large body has the same result in a thread, which takes its memory over', async () => {
  const body = largeBody();
  const expected = examineTaskBody(Buffer.from(body), 'tasks', TARGET);
  const pending = examine(body);
  assert.ok(pending instanceof Promise);
  assert.equal(body.length, 0);
  const examination = await pending;
  assert.deepEqual(verdictOf(examination), verdictOf(expected));
  assert.ok(examination.kind === 'parsed' && expected.kind === 'parsed');
  assert.equal(examination.fingerprint, expected.fingerprint);
  assert.ok(examination.result && 'upstream' in examination.result);
  assert.ok(fillTemplate(examination.result.upstream, FILLED).some(({ length }) => length > 2 ** 21));
});

test('errors of a large body are reported', async () => {
  const [malformed, invalid] = await Promise.all([
    examine(Buffer.concat([largeBody().subarray(0, 2 ** 21), Buffer.from('}')])),
    examine(largeBody({ duration: 3 })),
  ]);
  assert.equal(malformed.kind, 'malformed');
  assert.equal(verdictOf(invalid).error?.param, 'duration');
});
