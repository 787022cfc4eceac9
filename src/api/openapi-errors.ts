/** Error bodies as OpenAPI schemas, one per error format. errors.ts writes them. */
import { ERRORS, type ErrorFormat } from '../rules/index.ts';

export const ERROR_SCHEMA_NAMES = {
  openai: 'OpenAiError',
  messages: 'MessagesError',
  generate: 'GenerateContentError',
  video: 'VideoError',
} as const satisfies Record<ErrorFormat, string>;

type ErrorSchemaName = (typeof ERROR_SCHEMA_NAMES)[ErrorFormat];

const text = (description: string) => ({ type: 'string', description });
const message = text('for people; it may change');
const type = text('the error type of the dialect');
const code = { $ref: '#/components/schemas/ErrorCode' };

const object = (properties: Readonly<Record<string, object>>, optional: Readonly<Record<string, object>> = {}) => ({
  type: 'object',
  properties: { ...properties, ...optional },
  required: Object.keys(properties),
});

export const ERROR_SCHEMAS: Readonly<Record<ErrorSchemaName | 'ErrorCode', object>> = {
  ErrorCode: { type: 'string', description: 'Stable; docs/errors.md explains each code', enum: Object.keys(ERRORS) },
  OpenAiError: object({
    error: object({
      message,
      type,
      code,
      param: { type: ['string', 'null'], description: 'the field that is wrong, such as messages[2].content' },
    }),
  }),
  MessagesError: object({
    type: { const: 'error' },
    error: object({ type, message, code }, { details: object({ error_code: text('a reason that SDKs act on') }) }),
    request_id: text('as in the header x-request-id'),
  }),
  GenerateContentError: object({
    error: object({
      code: { type: 'integer', description: 'the HTTP status' },
      message,
      status: type,
      details: {
        type: 'array',
        description: 'google.rpc.ErrorInfo with the code as `reason`, and google.rpc.RetryInfo where a retry may help',
        items: object({ '@type': { type: 'string' } }, { reason: code, retryDelay: text('seconds, such as 5s') }),
      },
    }),
  }),
  VideoError: object({ error: object({ message, type, code }) }),
};
