/** Endpoints of operators and providers in the reference: health, metrics, this document, pages and reports. */
import { OPERATION_ERRORS, type OperatorOperation, operatorRow, VIDEO_OPERATION_ERRORS } from '../../rules/index.ts';
import { errorResponses } from './errors.ts';
import { withHeaders } from './headers.ts';
import type { OperationDescription } from './inference.ts';
import { ANY_OBJECT, json, object, type Schema, TEXT } from './schema.ts';

type Responses = Readonly<Record<string, object>>;

const text = (description: string, type: string, schema: Schema = TEXT): object => ({
  description,
  content: { [type]: { schema } },
});
const BYTES = { ...TEXT, format: 'binary' } as const;
const { every, metrics, body, file } = OPERATION_ERRORS;

/** Beside the errors of every request. */
const RESPONSES: Readonly<Record<OperatorOperation, Responses>> = {
  'operator.alive': { 200: json('It is alive', object({ status: { const: 'alive' } }), { status: 'alive' }) },
  'operator.ready': {
    200: json('It takes requests', object({ status: { const: 'ready' } }), { status: 'ready' }),
    503: json('It takes none', object({ status: { const: 'not ready' }, reason: TEXT }), {
      status: 'not ready',
      reason: 'starting',
    }),
  },
  'operator.metrics': {
    200: text('Metrics in the text format of Prometheus', 'text/plain'),
    ...errorResponses('openai', metrics),
  },
  'operator.openapi': {
    200: json('This document', ANY_OBJECT),
    304: { description: 'The client has the document' },
  },
  'characters.preview': {
    200: text('The picture', 'image/*', BYTES),
    304: { description: 'The client has the picture' },
    ...errorResponses('openai', [...file, 'public_character_not_found']),
  },
  'results.link': {
    200: text('The file', 'video/*', BYTES),
    206: text('The part that `Range` selects', 'video/*', BYTES),
    416: { description: 'No byte is in the range; `Content-Range` has the size' },
    ...errorResponses('openai', VIDEO_OPERATION_ERRORS['videos.lastFrame']),
  },
  'sessions.return': {
    200: text('A page that says how the authorization ended', 'text/html'),
    404: text('A page that says what is wrong', 'text/html'),
  },
  'provider.report': {
    200: json('The state is noted', ANY_OBJECT),
    204: { description: 'The state is noted' },
    ...errorResponses('openai', [...every, ...body, ...file]),
  },
};

export function describeService(operation: OperatorOperation): OperationDescription {
  const { deprecated } = operatorRow(operation);
  return {
    parameters: [],
    ...(operation === 'provider.report' && {
      requestBody: { required: true, content: { 'application/json': { schema: ANY_OBJECT } } },
    }),
    responses: withHeaders(
      { ...errorResponses('openai', every), ...RESPONSES[operation] },
      ...(deprecated ? (['deprecated'] as const) : []),
    ),
  };
}
