import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { dataUrl, FILLED, IMAGE_STARTS, imageItem, taskBody, verdictOf } from '../../../test/support/video-request.ts';
import { ApiError } from '../../core/index.ts';
import { videoCapabilitiesOf } from '../../rules/index.ts';
import { examineTaskBody } from './examine.ts';
import { createExaminer, type Examiner, type ExaminerOptions } from './examiner.ts';
import { fillTemplate } from './upstream-template.ts';

// The workers do not keep the process alive, so the test runner would end before their replies.
const alive = setInterval(() => undefined, 1_000);
after(() => clearInterval(alive));

const TARGET = { variant: 'A', capabilities: videoCapabilitiesOf('A') } as const;
const largeBody = (bytes = 2 ** 21): Buffer => {
  const image = Buffer.concat([IMAGE_STARTS.png ?? Buffer.alloc(0), Buffer.alloc(bytes)]);
  return Buffer.from(JSON.stringify(taskBody({ content: [imageItem(undefined, dataUrl('image/png', image))] })));
};
const script = (code: string): URL => new URL(`data:text/javascript,${encodeURIComponent(code)}`);

async function withExaminer(options: ExaminerOptions, work: (examiner: Examiner) => Promise<void>): Promise<void> {
  const examiner = createExaminer(options);
  try {
    await work(examiner);
  } finally {
    await examiner.close();
  }
}
const codeOfRejection = async (work: () => unknown): Promise<string> => {
  try {
    await work();
    return 'none';
  } catch (error) {
    return error instanceof ApiError ? error.code : String(error);
  }
};

test('examine returns at once for a small body', async () => {
  await withExaminer({}, async (examiner) => {
    const examination = examiner.examine(Buffer.from(JSON.stringify(taskBody())), 'tasks', TARGET);
    assert.ok(!(examination instanceof Promise));
    assert.equal(verdictOf(examination).error, undefined);
  });
});

test('examine gives the same result for a large body in a worker, and takes its memory over', async () => {
  const body = largeBody();
  const expected = examineTaskBody(Buffer.from(body), 'tasks', TARGET);
  await withExaminer({}, async (examiner) => {
    const pending = examiner.examine(body, 'tasks', TARGET);
    assert.ok(pending instanceof Promise);
    assert.equal(body.length, 0);
    const examination = await pending;
    assert.deepEqual(verdictOf(examination), verdictOf(expected));
    assert.ok(examination.kind === 'parsed' && expected.kind === 'parsed');
    assert.equal(examination.fingerprint, expected.fingerprint);
    assert.ok(examination.result && 'upstream' in examination.result);
    assert.ok(fillTemplate(examination.result.upstream, FILLED).some(({ length }) => length > 2 ** 21));
  });
});

test('examine copies a large body that is part of a larger buffer', async () => {
  const body = largeBody();
  const part = Buffer.concat([Buffer.from('xx'), body]).subarray(2);
  await withExaminer({}, async (examiner) => {
    assert.equal(verdictOf(await examiner.examine(part, 'tasks', TARGET)).error, undefined);
    assert.equal(part.length, body.length);
  });
});

test('examine reports the errors of a large body', async () => {
  await withExaminer({ inlineBytes: 0 }, async (examiner) => {
    const [malformed, invalid] = await Promise.all([
      examiner.examine(Buffer.from('{"a"'), 'tasks', TARGET),
      examiner.examine(Buffer.from(JSON.stringify(taskBody({ duration: 3 }))), 'tasks', TARGET),
    ]);
    assert.equal(malformed.kind, 'malformed');
    assert.equal(verdictOf(invalid).error?.param, 'duration');
  });
});

test('examine rejects with server_is_overloaded when too many bodies wait', async () => {
  await withExaminer(
    { inlineBytes: 0, maxWaiting: 2, script: script('setInterval(() => {}, 1000)') },
    async (examiner) => {
      const body = () => Buffer.from(JSON.stringify(taskBody()));
      const running = Array.from({ length: 3 }, () => codeOfRejection(() => examiner.examine(body(), 'tasks', TARGET)));
      assert.equal(await codeOfRejection(() => examiner.examine(body(), 'tasks', TARGET)), 'server_is_overloaded');
      await examiner.close();
      assert.deepEqual(await Promise.all(running), ['shutting_down', 'shutting_down', 'shutting_down']);
      assert.equal(await codeOfRejection(() => examiner.examine(body(), 'tasks', TARGET)), 'shutting_down');
    },
  );
});

test('a worker that dies fails its own job with internal_error and is replaced for the next', async () => {
  const dying = script(`
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ({ entry }) => {
      if (entry === 'videos') throw new Error('broken');
      parentPort.postMessage({ kind: 'malformed', error: { code: 'invalid_request', message: 'from the next worker' } });
    });`);
  await withExaminer({ inlineBytes: 0, script: dying }, async (examiner) => {
    const body = () => Buffer.from('{}');
    const first = codeOfRejection(() => examiner.examine(body(), 'videos', TARGET));
    const second = examiner.examine(body(), 'tasks', TARGET);
    assert.equal(await first, 'internal_error');
    assert.equal(verdictOf(await second).error?.message, 'from the next worker');
  });
});

test('a worker whose script is missing fails its job and nothing else', async () => {
  await withExaminer({ inlineBytes: 0, script: new URL('./missing.ts', import.meta.url) }, async (examiner) => {
    for (let n = 0; n < 2; n += 1)
      assert.equal(await codeOfRejection(() => examiner.examine(Buffer.from('{}'), 'tasks', TARGET)), 'internal_error');
  });
});
