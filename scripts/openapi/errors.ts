/**
 * Errors in the reference: their bodies, one schema per error format, and the responses of an operation by its codes.
 */
import { renderError } from '../../src/api/caller/index.ts';
import { fail } from '../../src/core/index.ts';
import { ERRORS, type ErrorCode, type ErrorFormat, errorRow } from '../../src/rules/index.ts';
import { JSON_TYPE, ref, type Schema, type Schemas, schemaOf, schemasOf, TEXT } from './schema.ts';

export const ERROR_SCHEMA_NAMES = {
  openai: 'OpenAiError',
  messages: 'MessagesError',
  generate: 'GenerateContentError',
  video: 'VideoError',
} as const satisfies Record<ErrorFormat, string>;

const FACTS =
  'message: string (for people; it may change), type: string (the error type of the dialect), code: ErrorCode';

export const ERROR_SCHEMAS: Schemas = {
  ErrorCode: { ...TEXT, description: 'Stable; docs/errors.md explains each code', enum: Object.keys(ERRORS) },
  ...schemasOf(`
closed OpenAiError: error: OpenAiErrorFacts
closed OpenAiErrorFacts: ${FACTS}, param: string | null (the field that is wrong, such as messages[2].content)
closed MessagesError: type: "error", error: { ${FACTS}, details?: { error_code: string (a reason that SDKs act on) } },
  request_id: string (as in the header x-request-id)
closed GenerateContentError: error: { code: integer (the HTTP status), message: string (for people; it may change),
  status: string (the error type of the dialect),
  details: { @type: string, reason?: ErrorCode, retryDelay?: string (seconds, such as 5s) }[]
  (google.rpc.ErrorInfo with the code as 'reason', and google.rpc.RetryInfo where a retry may help) }
closed VideoError: error: { ${FACTS} }
`),
  ProviderError: {
    ...schemaOf('{ error: object }'),
    additionalProperties: true,
    description:
      "An error of the provider, unchanged but for secrets: on the native path clients act on the provider's own words",
  },
};

interface ErrorOptions {
  /** A provider's own error may take the place of ours. */
  readonly passesProviderErrors?: boolean;
  /** Clients of another family get their own format. */
  readonly otherFormat?: ErrorFormat | undefined;
}

/** One response per status, with the codes that it can have and an example. */
export function errorResponses(
  format: ErrorFormat,
  codes: readonly ErrorCode[],
  { passesProviderErrors = false, otherFormat }: ErrorOptions = {},
): Record<string, object> {
  const pairs = [...new Set(codes)].flatMap((one) => statusesOf(one, format).map((status) => ({ status, code: one })));
  const byStatus = Map.groupBy(pairs, ({ status }) => status);
  const responses = [...byStatus]
    .sort(([one], [other]) => one - other)
    .map(([status, group]): [string, object] => {
      const names = [...new Set(group.map((pair) => errorRow(pair.code).codeIn?.[format] ?? pair.code))];
      const own = { allOf: [ref(ERROR_SCHEMA_NAMES[format]), withCodes(format, names)] };
      const others = [
        ...(otherFormat ? [ref(ERROR_SCHEMA_NAMES[otherFormat])] : []),
        ...(passesProviderErrors ? [ref('ProviderError')] : []),
      ];
      const schema = others.length > 0 ? { anyOf: [own, ...others] } : own;
      const error = fail(group[0]?.code ?? 'internal_error', undefined, { status });
      const example = renderError(error, { errorFormat: format, id: 'req_5d950c55' }).body;
      return [String(status), { description: names.join(', '), content: { [JSON_TYPE]: { schema, example } } }];
    });
  return {
    ...Object.fromEntries(responses),
    ...(passesProviderErrors && {
      default: {
        description: 'Another error of the provider',
        content: { [JSON_TYPE]: { schema: ref('ProviderError') } },
      },
    }),
  };
}

/** Narrows the code of an error; the native format has it as the reason of its details. */
const withCodes = (format: ErrorFormat, names: readonly string[]): Schema => {
  const member =
    format === 'generate'
      ? { details: { items: { properties: { reason: { enum: names } } } } }
      : { code: { enum: names } };
  return { properties: { error: { properties: member } } };
};

function statusesOf(code: ErrorCode, format: ErrorFormat): readonly number[] {
  const { status, statusIn } = errorRow(code);
  return [statusIn?.[format] ?? status].flat();
}
