/** The operations on video tasks as OpenAPI: parameters, bodies, responses and error codes, derived from the rules. */
import * as rules from '../../src/rules/index.ts';
import * as schemas from '../../src/schemas/index.ts';
import { VIDEO_STATUS } from '../../src/video/index.ts';
import { ASSET_SUCCESSES, fieldsBody, SESSION_SUCCESSES } from './assets.ts';
import { errorResponses } from './errors.ts';
import type { OperationDescription } from './inference.ts';
import {
  closed,
  constant,
  INTEGER,
  JSON_TYPE,
  json,
  list,
  listExample,
  listsOf,
  nullable,
  OBJECT,
  oneOf,
  optional,
  ranged,
  ref,
  type Schema,
  type Schemas,
  SECONDS,
  TEXT,
  withStream,
} from './schema.ts';
import { taskBodySchema, videosBodySchema } from './video-bodies.ts';
import { VIDEO_OPERATION_ERRORS } from './video-errors.ts';
import { jsonSchemaOf } from './zod.ts';

export function describeVideo(operation: rules.OfferedVideoOperation): OperationDescription {
  const row: rules.VideoRow = rules.ENDPOINTS[operation];
  const query: rules.QueryTable =
    operation in rules.VIDEO_QUERIES ? rules.VIDEO_QUERIES[operation as keyof typeof rules.VIDEO_QUERIES] : {};
  return {
    parameters: [
      ...(row.idempotent ? [IDEMPOTENCY_KEY] : []),
      ...(operation === 'tasks.create' || operation === 'videos.create' ? [LABEL] : []),
      ...(row.ranges ? [RANGE] : []),
      ...Object.entries(query).map(([name, rule]) => queryParameter(name, rule)),
    ],
    ...(operation in BODIES && { requestBody: BODIES[operation as WithBody] }),
    responses: { ...SUCCESSES[operation], ...errorResponses('video', VIDEO_OPERATION_ERRORS[operation]) },
  };
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    `valid UTF-8 of 1 to ${rules.IDEMPOTENCY.keyBytes} bytes; ` +
    'the same key and request return the original task or stable error (V 8)',
  schema: { type: 'string', minLength: 1, maxLength: rules.IDEMPOTENCY.keyBytes },
  example: 'order-2026-0001',
};

const LABEL = {
  name: rules.LABEL_HEADER,
  in: 'header',
  description: 'your own name of the task, by which lists are filtered',
  schema: { type: 'string', pattern: rules.TASK_LABEL.source },
  example: 'order-2026-0001',
};

const RANGE = {
  name: 'Range',
  in: 'header',
  description: 'one range of bytes; anything else gets the whole file',
  schema: { type: 'string' },
  example: 'bytes=0-1023',
};

const queryParameter = (name: string, rule: rules.QueryRule): object => ({
  name,
  in: 'query',
  ...(rule.kind === 'required' && { required: true }),
  description: rule.about,
  schema: querySchema(rule),
});

function querySchema(rule: rules.QueryRule): Schema {
  if (rule.kind === 'integer') return { type: 'integer', minimum: rule.min, maximum: rule.max, default: rule.default };
  if (rule.kind === 'text' || rule.kind === 'required') return { type: 'string' };
  if (rule.kind === 'word') return { type: 'string', enum: rule.vocabulary, default: rule.default };
  // A list in a query is written by repeating the parameter, which is the default of OpenAPI.
  return rule.kind === 'values'
    ? { type: 'array', items: { type: 'string', enum: rule.vocabulary } }
    : { type: 'array', items: { type: 'string' }, maxItems: rule.maxItems };
}

type WithBody = {
  [K in rules.OfferedVideoOperation]: (typeof rules.ENDPOINTS)[K]['body']['content'] extends 'none' ? never : K;
}[rules.OfferedVideoOperation];

const bodyOf = (schema: Schema, example: object, required = true): object => {
  const description = 'The fields of docs/contract/video.md; unknown fields are rejected.';
  return { required, description, content: { [JSON_TYPE]: { schema, example } } };
};
const LAMP = { model: 'demo-video-a', content: [{ type: 'text', text: 'a lamp at night' }], duration: 5 };
const VIDEO_BODY = bodyOf(ref('VideoRequest'), { model: 'demo-video-a', prompt: 'a lamp at night', seconds: '5' });

const BODIES: Readonly<Record<WithBody, object>> = {
  'tasks.create': bodyOf(ref('TaskRequest'), { ...LAMP, ratio: '16:9' }),
  'videos.create': VIDEO_BODY,
  'tasks.estimate': bodyOf(ref('TaskRequest'), LAMP),
  'videos.estimate': VIDEO_BODY,
  'callbacks.setDefault': bodyOf(ref('CallbackDefaultRequest'), {
    url: 'https://example.com/hook',
    events: ['succeeded', 'failed'],
  }),
  'assetGroups.create': bodyOf(fieldsBody(rules.ASSET_GROUP_FIELDS), {
    model: 'demo-video-a',
    name: 'Autumn',
    group_type: 'AIGC',
  }),
  'assets.create': bodyOf(fieldsBody(rules.ASSET_FIELDS), {
    group_id: 'assetgrp_1',
    asset_type: 'Image',
    url: 'https://example.com/lamp.png',
  }),
  'sessions.create': bodyOf(
    fieldsBody(rules.SESSION_FIELDS),
    { name: 'Presenter', redirect_url: 'https://example.com/verified' },
    false,
  ),
};

const TASK_EXAMPLE = {
  id: 'task_7Hq2bVxN4sKd9wRtYc3mZp',
  model: 'demo-video-a',
  status: 'queued',
  progress: 0,
  error: null,
  created_at: 1_767_225_600,
  updated_at: 1_767_225_600,
  duration: 5,
  resolution: '720p',
  ratio: '16:9',
} as const;
const { id, model, progress, created_at } = TASK_EXAMPLE;
const VIDEO_EXAMPLE = {
  id,
  object: 'video',
  model,
  status: VIDEO_STATUS.queued,
  progress,
  created_at,
  completed_at: null,
  expires_at: null,
  error: null,
  prompt: null,
  remixed_from_video_id: null,
  seconds: '5',
  size: '1280x720',
} as const;

const CHARACTER_EXAMPLE = {
  id: 'char_4Kd8sWq1nXv7bRtYc2mZpH',
  object: 'public_character',
  name: 'Studio presenter',
  preview_url: 'https://gateway.example/public/characters/char_4Kd8sWq1nXv7bRtYc2mZpH/preview',
  tags: ['studio'],
  route_group_id: 'ep',
  route_group_name: 'EP',
  reference: 'asset://char_4Kd8sWq1nXv7bRtYc2mZpH',
} as const;

const ESTIMATED = 'What the creation would hold; nothing was created';
const ESTIMATE_EXAMPLE = {
  object: 'task_estimate',
  currency: 'USD',
  model: 'demo-video-a',
  max_cost: '0.767109',
  tokens: 109_587,
  pixels: 927_408,
  frames: 121,
  price: '7',
  multipliers: ['1', '1'],
} as const;

const CALLBACK_EXAMPLE = {
  id: 'evt_4Kd8sWq1nXv7bRtYc2mZpH',
  object: 'callback',
  task_id: id,
  url: 'https://example.com/hook',
  state: 'delivered',
  attempts: 1,
  last_status: 200,
  last_error: null,
  next_attempt_at: null,
  created_at,
  finished_at: created_at,
} as const;

const DEFAULT_EXAMPLE = {
  object: 'callback_default',
  url: 'https://example.com/hook',
  events: ['succeeded', 'failed'],
  updated_at: created_at,
} as const;

const ACCEPTED = 'The provider accepted the task';
const UNCONFIRMED =
  'The task exists, but the provider did not confirm it. Do not send the request again; read the task (V 4.2 r3)';

const SUCCESSES: Readonly<Record<rules.OfferedVideoOperation, Readonly<Record<string, object>>>> = {
  ...ASSET_SUCCESSES,
  ...SESSION_SUCCESSES,
  'tasks.create': {
    200: json(ACCEPTED, ref('TaskId'), { id }),
    202: json(UNCONFIRMED, ref('TaskId'), { id }),
  },
  'tasks.list': { 200: json('A page of tasks, newest first', ref('TaskList'), { items: [TASK_EXAMPLE], total: 1 }) },
  'tasks.get': {
    200: withStream(
      json(
        'The task; with `Accept: text/event-stream` an event `task` at once and for every change until it ends',
        ref('Task'),
        TASK_EXAMPLE,
      ),
      `event: task\ndata: ${JSON.stringify(TASK_EXAMPLE)}\n\n`,
    ),
  },
  'tasks.estimate': { 200: json(ESTIMATED, ref('TaskEstimate'), ESTIMATE_EXAMPLE) },
  'videos.estimate': { 200: json(ESTIMATED, ref('TaskEstimate'), ESTIMATE_EXAMPLE) },
  'links.create': {
    200: json('Links that need no key', ref('ResultLinks'), {
      object: 'video.links',
      video_url: `https://gateway.example/public/videos/${id}/content?link=v1%3Ak1%3A...`,
      expires_at: 1_767_226_500,
    }),
  },
  'links.revoke': { 204: { description: 'No link that was made before works any more' } },
  'callbacks.getDefault': { 200: json('The default callback', ref('CallbackDefault'), DEFAULT_EXAMPLE) },
  'callbacks.setDefault': { 200: json('The default callback', ref('CallbackDefault'), DEFAULT_EXAMPLE) },
  'callbacks.removeDefault': { 204: { description: 'New tasks have no default callback' } },
  'callbacks.list': {
    200: json('A page of callbacks, newest first', ref('CallerCallbackList'), listExample(CALLBACK_EXAMPLE)),
  },
  'callbacks.get': { 200: json('The callback', ref('CallerCallback'), CALLBACK_EXAMPLE) },
  'callbacks.redeliver': { 202: json('It is delivered again', ref('CallerCallback'), CALLBACK_EXAMPLE) },
  'callbacks.test': {
    200: json('The outcome, also of a failed delivery', ref('CallerCallbackTest'), {
      object: 'callback_test',
      id: CALLBACK_EXAMPLE.id,
      task_id: id,
      delivered: true,
      status: 200,
      error: null,
      duration_ms: 84,
    }),
  },
  'tasks.delete': { 204: { description: 'Cancelled, or the record of a finished task is deleted' } },
  'videos.create': {
    200: json(ACCEPTED, ref('Video'), VIDEO_EXAMPLE),
    202: json(UNCONFIRMED, ref('Video'), VIDEO_EXAMPLE),
  },
  'characters.list': {
    200: json('A page of characters', ref('CharacterList'), listExample(CHARACTER_EXAMPLE)),
  },
  'characters.get': { 200: json('The character', ref('Character'), CHARACTER_EXAMPLE) },
  'videos.list': { 200: json('A page of videos', ref('VideoList'), listExample(VIDEO_EXAMPLE)) },
  'videos.get': { 200: json('The video', ref('Video'), VIDEO_EXAMPLE) },
  'videos.content': ranged('The video', 'video/*'),
  'videos.lastFrame': ranged('The last frame', 'image/*'),
  'videos.delete': {
    200: json('Cancelled, or the record of a finished task is deleted', ref('VideoDeleted'), {
      id,
      object: 'video.deleted',
      deleted: true,
    }),
  },
};

export const VIDEO_OBJECTS = [
  schemas.TaskEstimate,
  schemas.ResultLinks,
  schemas.CallerCallback,
  schemas.CallerCallbackTest,
  schemas.CallbackDefault,
  schemas.CallerTask,
  schemas.AssetGroup,
  schemas.CallerAsset,
  schemas.AuthorizationSession,
];

/** Objects of the task operations (V 2, V 4.7). */
export const VIDEO_SCHEMAS: Schemas = {
  TaskRequest: taskBodySchema(),
  VideoRequest: videosBodySchema(),

  TaskId: closed({ id: TEXT }),
  Character: closed({
    id: TEXT,
    object: constant('public_character'),
    name: TEXT,
    preview_url: TEXT,
    tags: list(TEXT),
    route_group_id: TEXT,
    route_group_name: TEXT,
    reference: TEXT,
  }),
  TaskList: closed({ items: list(ref('Task')), total: INTEGER }),
  Video: closed({
    id: TEXT,
    object: constant('video'),
    model: TEXT,
    status: oneOf(...new Set(Object.values(VIDEO_STATUS))),
    progress: INTEGER,
    created_at: SECONDS,
    completed_at: nullable(INTEGER),
    expires_at: nullable(INTEGER),
    error: jsonSchemaOf(schemas.shownTaskError),
    prompt: nullable(TEXT),
    remixed_from_video_id: nullable(TEXT),
    seconds: TEXT,
    size: TEXT,
    usage: optional(jsonSchemaOf(schemas.taskUsage)),
    charge: optional(jsonSchemaOf(schemas.taskCharge)),
    parameters: optional(OBJECT),
    label: optional(TEXT),
  }),
  CallbackDefaultRequest: closed({
    url: TEXT,
    events: optional(list(oneOf(...rules.CALLBACK_TYPES))),
  }),
  VideoDeleted: closed({
    id: TEXT,
    object: constant('video.deleted'),
    deleted: constant(true),
  }),
  ...listsOf('AssetGroup', 'Asset', 'Character', 'CallerCallback', 'Video'),
};
