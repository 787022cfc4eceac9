import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENDPOINTS, INFERENCE_ENDPOINTS, type InferenceRow, OPERATIONS, VIDEO_ENDPOINTS } from './endpoints.ts';
import { STYLES } from './groups.ts';

const { billing: _billing, ...withoutBilling } = INFERENCE_ENDPOINTS['embeddings.create'];
const { timeouts: _timeouts, ...withoutTimeouts } = INFERENCE_ENDPOINTS['embeddings.create'];
const { reader: _reader, ...withoutReader } = INFERENCE_ENDPOINTS['embeddings.create'];
const { body: _body, ...withoutBody } = INFERENCE_ENDPOINTS['embeddings.create'];
const { errorFormat: _format, ...withoutFormat } = INFERENCE_ENDPOINTS['embeddings.create'];
const { groups: _groups, ...withoutGroups } = INFERENCE_ENDPOINTS['embeddings.create'];
const { convertsFrom: _from, ...withoutDialect } = INFERENCE_ENDPOINTS['messages.create'];

/** `npm run check` fails when one of these compiles: every fact of an operation is demanded by its row. */
const INCOMPLETE: readonly InferenceRow[] = [
  // @ts-expect-error a row says whether it is billed
  withoutBilling,
  // @ts-expect-error a row has timeouts
  withoutTimeouts,
  // @ts-expect-error a row says how its request is read
  withoutReader,
  // @ts-expect-error a row has a body class
  withoutBody,
  // @ts-expect-error a row has an error format
  withoutFormat,
  // @ts-expect-error a row has a cell for every group style
  withoutGroups,
  // @ts-expect-error a row with a cell that converts names the dialect it converts from
  withoutDialect,
];

test('G 4.1: the endpoint table rejects rows that lack a fact', () => {
  assert.equal(INCOMPLETE.length, 7);
});

test('G 4.1: every native cell has a reader, and every row without one only own or refused cells', () => {
  for (const [operation, row] of Object.entries(INFERENCE_ENDPOINTS)) {
    if (!('reader' in row)) continue;
    const kinds = STYLES.map((style) => row.groups[style].kind);
    const reachesProvider = kinds.some((kind) => kind === 'native' || kind === 'prefer');
    assert.equal(row.reader !== 'none', reachesProvider, operation);
    assert.equal(
      row.timeouts !== 'none',
      kinds.some((kind) => kind !== 'own' && kind !== 'refuse'),
      operation,
    );
  }
});

test('G 9 r1: paths begin with /v1, and those of native generate-content with /v1beta', () => {
  for (const [operation, { path }] of Object.entries(INFERENCE_ENDPOINTS))
    assert.match(
      path,
      /^(?:generate|interactions|caches|googleFiles)\./.test(operation) ? /^\/(?:upload\/)?v1beta\// : /^\/v1\//,
    );
});

test('V 4.12, V 9 r1: resources have the paths of the contract', () => {
  const paths = Object.fromEntries(
    Object.entries(VIDEO_ENDPOINTS).flatMap(([operation, { path }]) =>
      /\.(?:list|get)$/.test(operation) ? [[operation, path]] : [],
    ),
  );
  assert.deepEqual(paths, {
    'tasks.list': '/api/v3/contents/generations/tasks',
    'tasks.get': '/api/v3/contents/generations/tasks/{task_id}',
    'videos.list': '/v1/videos',
    'videos.get': '/v1/videos/{task_id}',
    'callbacks.list': '/v1/video-callbacks',
    'callbacks.get': '/v1/video-callbacks/{event_id}',
    'assetGroups.list': '/v1/asset-groups',
    'assetGroups.get': '/v1/asset-groups/{group_id}',
    'assets.list': '/v1/assets',
    'assets.get': '/v1/assets/{asset_id}',
    'sessions.get': '/v1/assets/real-person/authorization-sessions/{session_id}',
    'characters.list': '/v1/public-characters',
    'characters.get': '/v1/public-characters/{character_id}',
  });
});

test('creating a video is metered, and no other operation of document 2', () => {
  for (const [operation, row] of Object.entries(VIDEO_ENDPOINTS)) {
    assert.equal(
      row.billing,
      operation === 'tasks.create' || operation === 'videos.create' ? 'metered' : 'free',
      operation,
    );
  }
});

test('no two operations share a method and a path', () => {
  const routes = OPERATIONS.flatMap((operation) => {
    const row = ENDPOINTS[operation];
    return [row.path, ...('alias' in row ? [row.alias] : [])].map((path) => `${row.method} ${path}`);
  });
  assert.equal(new Set(routes).size, routes.length);
});
