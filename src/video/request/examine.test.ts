import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  codeOf,
  examine,
  imageItem,
  TEXT,
  taskBody,
  URL_TEXT,
  verdictOf,
  withItems,
} from '../../../test/support/video-request.ts';
import { VIDEO_VARIANTS } from '../../rules/index.ts';
import { examineTaskBody } from './examine.ts';

const INVALID = 'invalid_request';

test('V 4 unknown: an unknown field is invalid at the top level, in an item, in a payload and in a tool', () => {
  for (const variant of VIDEO_VARIANTS) assert.equal(codeOf(taskBody({ durations: 5 }), { variant }), INVALID);
  const { error } = verdictOf(examine(taskBody({ foo: 1 })));
  assert.deepEqual(error, { code: INVALID, message: 'foo: unknown; remove it or check its spelling.', param: 'foo' });
  const cases = [
    [withItems({ ...TEXT, foo: 1 }), 'content[0].foo'],
    [withItems({ type: 'image_url', image_url: { url: URL_TEXT, detail: 'high' } }), 'content[0].image_url.detail'],
    [taskBody({ tools: [{ type: 'web_search', x: 1 }] }), 'tools[0].x'],
  ] as const;
  for (const [body, param] of cases) {
    const { error } = verdictOf(examine(body));
    assert.equal(error?.code, INVALID);
    assert.equal(error?.param, param);
  }
});

test('V 4 form: a body that is not a JSON object is malformed', () => {
  for (const body of [
    '',
    ' ',
    '[]',
    '"x"',
    'null',
    '1',
    '{',
    '{"model":"x"',
    '{"a":1}{}',
    '{a:1}',
    '\u0000',
    '{"a":"\n"}',
  ]) {
    const examination = examine(body);
    assert.equal(examination.kind, 'malformed', body);
    assert.equal(verdictOf(examination).error?.code, INVALID);
  }
  assert.equal(examine(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])).kind, 'malformed');
  assert.equal(examine(`{"a":${'['.repeat(200)}${']'.repeat(200)}}`).kind, 'malformed');
  assert.equal(examine(`{"a":[${'0,'.repeat(20_000)}0]}`).kind, 'malformed');
});

test('V 4 form: a multipart body is malformed, and the message asks for JSON', () => {
  const { error } = verdictOf(
    examine('--boundary\r\ncontent-disposition: form-data; name="model"\r\n\r\nx\r\n--boundary--'),
  );
  assert.equal(error?.code, INVALID);
  assert.match(error?.message ?? '', /JSON/);
});

test('V 4 form: a byte order mark and white space around the body are accepted', () => {
  assert.equal(codeOf(`\ufeff \n${JSON.stringify(taskBody())}\r\n`), 'ok');
});

test('V 4 form: a member that occurs twice and __proto__ are malformed at any depth', () => {
  const cases = [
    ['{"model":"x","model":"x","content":[]}', 'model'],
    ['{"model":"x","mod\\u0065l":"x"}', 'model'],
    ['{"model":"x","content":[{"type":"text","text":"a","text":"b"}]}', 'content[0].text'],
    ['{"__proto__":{},"model":"x"}', '__proto__'],
    ['{"model":"x","content":[{"__proto__":1}]}', 'content[0].__proto__'],
    ['{"\\u005f_proto__":{}}', '__proto__'],
  ] as const;
  for (const [body, param] of cases) {
    const examination = examine(body);
    assert.equal(examination.kind, 'malformed', body);
    assert.equal(verdictOf(examination).error?.param, param);
  }
});

test('V 4 order: model, unknown field, field, content, combination and reference are reported in this order', () => {
  const faults = {
    reference: imageItem('reference_image', 'asset://nope'),
    combination: imageItem('first_frame'),
    content: { type: 'nope' },
  };
  const step = (members: object) => verdictOf(examine({ model: 'm', content: [TEXT], ...members })).error?.param;
  assert.equal(step({ content: [faults.reference] }), 'content[0].image_url.url');
  assert.equal(step({ content: [faults.reference, faults.combination] }), 'content[0].role');
  assert.equal(step({ content: [faults.reference, faults.combination, faults.content] }), 'content[2].type');
  assert.equal(step({ content: [faults.content], duration: 3 }), 'duration');
  assert.equal(step({ content: [faults.content], duration: 3, foo: 1 }), 'foo');
  assert.equal(step({ model: '', content: [faults.content], duration: 3, foo: 1 }), 'model');
});

test('V 4.2 model: the name is a string that is not empty, and is checked without a target', () => {
  for (const model of [undefined, null, 5, '', [], { name: 'x' }]) {
    const body = taskBody({ model });
    assert.equal(codeOf(body), INVALID, JSON.stringify(model));
    const examination = examineTaskBody(Buffer.from(JSON.stringify(body)), 'tasks', undefined);
    assert.equal(examination.kind === 'parsed' && examination.model, undefined);
    assert.equal(verdictOf(examination).error?.param, 'model');
  }
});

test('V 4.2 model: without a target only the form is checked', () => {
  const examination = examineTaskBody(Buffer.from(JSON.stringify({ model: 'm', foo: 1 })), 'tasks', undefined);
  assert.ok(examination.kind === 'parsed');
  assert.equal(examination.model, 'm');
  assert.equal(examination.result, undefined);
  assert.match(examination.fingerprint, /^[0-9a-f]{64}$/);
});
