/** openapi.json and the video API agree: bodies, queries, responses and errors. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { VIDEO_ENDPOINTS, type VideoRow } from '../../src/rules/index.ts';
import { type JsonSchema, violations } from '../support/json-schema.ts';
import {
  type ApiResponse,
  callVideo,
  startVideo,
  TASKS,
  taskBody,
  textItem,
  type VideoFixture,
} from '../support/video.ts';

interface Described {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: JsonSchema; readonly example: object }>>;
  };
  readonly responses: Readonly<Record<string, ResponseObject | { readonly $ref: string }>>;
}
interface ResponseObject {
  readonly content?: Readonly<Record<string, { schema: JsonSchema; example?: object }>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, ResponseObject>>;
  };
}

let fixture: VideoFixture;
let document: Document;
before(async () => {
  fixture = await startVideo({ video: { models: { 'demo-video-a': 'open' } } });
  document = (await (await fetch(`${fixture.gateway.url}/openapi.json`)).json()) as Document;
});
after(() => fixture.close());

type VideoOperation = keyof typeof VIDEO_ENDPOINTS;
const described = (operation: VideoOperation): Described => {
  const { method, path }: VideoRow = VIDEO_ENDPOINTS[operation];
  return document.paths[path]?.[method.toLowerCase()] ?? assert.fail(operation);
};
const resolve = (ref: string): JsonSchema =>
  document.components.schemas[ref.replace('#/components/schemas/', '')] ?? assert.fail(ref);
const JSON_TYPE = 'application/json';
const responseOf = (response: ResponseObject | { readonly $ref: string }): ResponseObject =>
  '$ref' in response
    ? (document.components.responses[response.$ref.replace('#/components/responses/', '')] ??
      assert.fail(response.$ref))
    : response;

/** The status must be described, and the body must fit its schema. */
function assertDescribed(operation: VideoOperation, { status, body }: ApiResponse): void {
  const response = described(operation).responses[status] ?? assert.fail(`${operation} ${status} is not described`);
  const schema = responseOf(response).content?.[JSON_TYPE]?.schema;
  assert.deepEqual(schema === undefined ? Object.keys(body) : violations(schema, body, resolve), [], operation);
}

const create = (body: unknown, path: string = TASKS) => callVideo(fixture.gateway.url, path, { body });

test('openapi.json fits its own examples', () => {
  for (const operation of Object.keys(VIDEO_ENDPOINTS) as VideoOperation[]) {
    const { requestBody, responses } = described(operation);
    const contents = [requestBody, ...Object.values(responses).map(responseOf)].flatMap(
      (part) => part?.content?.[JSON_TYPE] ?? [],
    );
    for (const { schema, example } of contents)
      if (example) assert.deepEqual(violations(schema, example, resolve), [], operation);
  }
});

const MEDIA = 'https://example.com/lamp.png';
const image = (role?: string) => ({ type: 'image_url', image_url: { url: MEDIA }, ...(role && { role }) });

/** Bodies of variant A, and whether they are valid. */
const TASK_BODIES: readonly (readonly [string, object, boolean])[] = [
  ['a text', {}, true],
  ['every parameter', { seed: -1, service_tier: 'default', execution_expires_after: 3600, watermark: true }, true],
  ['an automatic length', { duration: -1 }, true],
  ['frames', { duration: undefined, frames: 24 }, true],
  ['frames beside duration', { frames: 24 }, false],
  ['a length below the shortest', { duration: 3 }, false],
  ['a length as text', { duration: '5' }, false],
  ['a lone image', { content: [image()] }, true],
  ['an image with a role of a video', { content: [image('reference_video')] }, false],
  ['an empty text', { content: [textItem('')] }, false],
  ['no content', { content: [] }, false],
  ['65 items', { content: Array.from({ length: 65 }, () => textItem()) }, false],
  ['an unknown item', { content: [{ type: 'file_url', file_url: { url: MEDIA } }] }, false],
  ['an unknown ratio', { ratio: '2:1' }, false],
  ['17 tools', { tools: Array.from({ length: 17 }, () => ({ type: 'web_search' })) }, false],
  ['an unknown field', { colour: 'red' }, false],
  ['a field that no variant accepts', { draft: false }, false],
];
for (const [about, more, isValid] of TASK_BODIES)
  test(`V 4.2: ${about} is ${isValid ? 'accepted' : 'rejected'} by the gateway and by openapi.json`, async () => {
    const body = JSON.parse(JSON.stringify(taskBody('A', more)));
    const response = await create(body);
    assert.equal(response.status, isValid ? 200 : 400, JSON.stringify(response.body));
    assertDescribed('tasks.create', response);
    const schema = described('tasks.create').requestBody?.content[JSON_TYPE]?.schema ?? assert.fail();
    assert.equal(violations(schema, body, resolve).length === 0, isValid);
  });

const VIDEO_BODIES: readonly (readonly [string, object, boolean])[] = [
  ['a prompt', { prompt: 'x', seconds: '4', size: '864x496' }, true],
  ['a reference', { prompt: 'x', input_reference: { image_url: MEDIA } }, true],
  ['neither prompt nor content', { seconds: 4 }, false],
  ['seconds beside duration', { prompt: 'x', seconds: 4, duration: 4 }, false],
  ['a size that no model offers', { prompt: 'x', size: '1792x1024' }, false],
];
for (const [about, more, isValid] of VIDEO_BODIES)
  test(`V 4.7: ${about} is ${isValid ? 'accepted' : 'rejected'} by the gateway and by openapi.json`, async () => {
    const body = { model: 'demo-video-a', ...more };
    const response = await create(body, '/v1/videos');
    assert.equal(response.status, isValid ? 200 : 400, JSON.stringify(response.body));
    assertDescribed('videos.create', response);
    const schema = described('videos.create').requestBody?.content[JSON_TYPE]?.schema ?? assert.fail();
    assert.equal(violations(schema, body, resolve).length === 0, isValid);
  });

test('V 2: tasks and videos have the fields that openapi.json describes', async () => {
  const { url } = fixture.gateway;
  const { body } = await create(taskBody('A', { seed: 7, watermark: false, return_last_frame: true }));
  const failed = await create(
    taskBody('EP', { content: [textItem('[sim:sync_400=InputTextSensitiveContentDetected]')] }),
  );
  for (const id of [body.id, failed.body.id]) {
    assertDescribed('tasks.get', await callVideo(url, `${TASKS}/${id}`));
    assertDescribed('videos.get', await callVideo(url, `/v1/videos/${id}`));
  }
  assertDescribed('tasks.list', await callVideo(url, TASKS));
  assertDescribed('videos.list', await callVideo(url, '/v1/videos'));
  assertDescribed('videos.delete', await callVideo(url, `/v1/videos/${body.id}`, { method: 'DELETE' }));
});

test('V 7: errors of every operation have a status and a code that openapi.json lists', async () => {
  const { url } = fixture.gateway;
  const other = await create(taskBody('EP'));
  const missing = `${TASKS}/task_missing`;
  const requests: readonly (readonly [VideoOperation, string, object])[] = [
    ['tasks.create', TASKS, { body: { ...taskBody('A'), model: 'nothing' } }],
    ['tasks.create', TASKS, { body: '{' }],
    ['tasks.create', TASKS, { body: taskBody('A'), headers: { 'content-type': 'multipart/form-data; boundary=x' } }],
    ['tasks.create', TASKS, { body: taskBody('A', { resolution: '4k' }) }],
    ['tasks.list', `${TASKS}?page_num=0`, {}],
    ['tasks.list', `${TASKS}?colour=red`, {}],
    ['tasks.get', missing, {}],
    ['tasks.get', missing, { key: 'sk-unknown-key-of-any-length' }],
    ['tasks.delete', missing, { method: 'DELETE' }],
    ['tasks.delete', `${TASKS}/${other.body.id}`, { method: 'DELETE' }],
    ['videos.list', '/v1/videos?after=nothing', {}],
  ];
  for (const [operation, path, request] of requests) {
    const response = await callVideo(url, path, request);
    assert.ok(response.status >= 400, path);
    assertDescribed(operation, response);
  }
});

test('V 4.4, V 8: openapi.json lists the query parameters of lists and the Idempotency-Key of creates', () => {
  const names = (operation: VideoOperation, where: string) =>
    (described(operation).parameters ?? []).filter((one) => one.in === where).map(({ name }) => name);
  assert.deepEqual(names('tasks.list', 'query'), [
    'page_num',
    'page_size',
    'filter.status',
    'filter.task_ids',
    'filter.model',
    'filter.service_tier',
    'filter.label',
    'include',
  ]);
  assert.deepEqual(names('videos.list', 'query'), ['limit', 'after', 'order', 'label', 'include']);
  for (const operation of Object.keys(VIDEO_ENDPOINTS) as VideoOperation[]) {
    const row: VideoRow = VIDEO_ENDPOINTS[operation];
    if (row.status === 'planned') continue;
    assert.equal(names(operation, 'header').includes('Idempotency-Key'), row.idempotent === true, operation);
  }
});
