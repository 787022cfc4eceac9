/** Endpoints of operators and providers in the reference: health, metrics, this document, pages and reports. */
import type { OperatorOperation } from '../../src/rules/index.ts';
import { errorResponses } from './errors.ts';
import type { OperationDescription } from './inference.ts';
import { OPERATION_ERRORS } from './operation-errors.ts';
import {
  BYTES,
  bytes,
  closed,
  constant,
  JSON_TYPE,
  json,
  list,
  OBJECT,
  open,
  optional,
  ranged,
  ref,
  type Schemas,
  TEXT,
} from './schema.ts';
import { VIDEO_OPERATION_ERRORS } from './video-errors.ts';

type Responses = Readonly<Record<string, object>>;

const { every, metrics, body, file } = OPERATION_ERRORS;

/** Beside the errors of every request. */
const RESPONSES: Readonly<Record<OperatorOperation, Responses>> = {
  'operator.alive': {
    200: json('It is alive', closed({ status: constant('alive'), version: TEXT }), {
      status: 'alive',
      version: '1.4.0',
    }),
  },
  'operator.ready': {
    200: json('It takes requests', closed({ status: constant('ready') }), { status: 'ready' }),
    503: json('It takes none', closed({ status: constant('not ready'), reason: TEXT }), {
      status: 'not ready',
      reason: 'starting',
    }),
  },
  'operator.metrics': {
    200: bytes('Metrics in the text format of Prometheus', 'text/plain', TEXT),
    ...errorResponses('openai', metrics),
  },
  'operator.openapi': {
    200: json('This document', ref('OpenApiDocument')),
    304: { description: 'The client has the document' },
  },
  'characters.preview': {
    200: bytes('The picture', 'image/*'),
    304: { description: 'The client has the picture' },
    ...errorResponses('openai', [...file, 'public_character_not_found']),
  },
  'files.link': {
    200: bytes('The file', '*/*'),
    ...errorResponses('openai', [...file, 'file_not_found', 'rate_limit_exceeded']),
  },
  'files.piece': {
    200: json('The file, after the last piece', ref('GenerateUploaded')),
    204: { description: 'The piece is kept' },
    ...errorResponses('generate', [...every, ...body, 'file_not_found', 'invalid_value', 'request_too_large']),
  },
  'results.link': {
    ...ranged('The file', 'video/*'),
    ...errorResponses('openai', VIDEO_OPERATION_ERRORS['videos.lastFrame']),
  },
  'sessions.return': {
    200: bytes('A page that says how the authorization ended', 'text/html', TEXT),
    404: bytes('A page that says what is wrong', 'text/html', TEXT),
  },
  'provider.report': {
    200: json('The task is read at its provider', closed({}), {}),
    ...errorResponses('openai', [...every, ...body, ...file]),
  },
};

const BODIES: Partial<Record<OperatorOperation, object>> = {
  'provider.report': { [JSON_TYPE]: { schema: ref('ProviderReport') } },
  'files.piece': { '*/*': { schema: BYTES } },
};

export const SERVICE_SCHEMAS: Schemas = {
  OpenApiDocument: open({
    openapi: TEXT,
    info: open({
      title: TEXT,
      version: TEXT,
      description: TEXT,
    }),
    servers: list(open({ url: TEXT })),
    tags: list(open({ name: TEXT })),
    paths: OBJECT,
    components: OBJECT,
  }),
  ProviderReport: open({
    id: optional(TEXT, 'of the task at the provider'),
    data: optional(open({ id: optional(TEXT, 'of the task at another Dragoman') })),
  }),
};

export const describeService = (operation: OperatorOperation): OperationDescription => ({
  parameters: [],
  ...(BODIES[operation] && { requestBody: { required: true, content: BODIES[operation] } }),
  responses: { ...errorResponses('openai', every), ...RESPONSES[operation] },
});
