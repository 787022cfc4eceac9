/**
 * Errors in the reference: their bodies, one schema per error format, and the responses of an operation by its codes.
 */
import { renderError } from '../../src/api/caller/index.ts';
import { fail } from '../../src/core/index.ts';
import { ERRORS, type ErrorCode, type ErrorFormat, errorRow } from '../../src/rules/index.ts';
import {
  closed,
  constant,
  described,
  INTEGER,
  JSON_TYPE,
  list,
  type Members,
  nullable,
  OBJECT,
  open,
  optional,
  ref,
  type Schema,
  type Schemas,
  TEXT,
} from './schema.ts';

export const ERROR_SCHEMA_NAMES = {
  openai: 'OpenAiError',
  messages: 'MessagesError',
  generate: 'GenerateContentError',
  video: 'VideoError',
} as const satisfies Record<ErrorFormat, string>;

const FACTS: Members = {
  message: described(TEXT, 'for people; it may change'),
  type: described(TEXT, 'the error type of the dialect'),
  code: ref('ErrorCode'),
};

export const ERROR_SCHEMAS: Schemas = {
  ErrorCode: { ...TEXT, description: 'Stable; docs/errors.md explains each code', enum: Object.keys(ERRORS) },

  OpenAiError: closed({ error: ref('OpenAiErrorFacts') }),
  OpenAiErrorFacts: closed({
    ...FACTS,
    param: described(nullable(TEXT), 'the field that is wrong, such as messages[2].content'),
  }),
  MessagesError: closed({
    type: constant('error'),
    error: closed({
      ...FACTS,
      details: optional(closed({ error_code: described(TEXT, 'a reason that SDKs act on') })),
    }),
    request_id: described(TEXT, 'as in the header x-request-id'),
  }),
  GenerateContentError: closed({
    error: closed({
      code: described(INTEGER, 'the HTTP status'),
      message: described(TEXT, 'for people; it may change'),
      status: described(TEXT, 'the error type of the dialect'),
      details: described(
        list(
          closed({
            '@type': TEXT,
            reason: optional(ref('ErrorCode')),
            retryDelay: optional(TEXT, 'seconds, such as 5s'),
          }),
        ),
        'google.rpc.ErrorInfo with the code as `reason`, and google.rpc.RetryInfo where a retry may help',
      ),
    }),
  }),
  VideoError: closed({
    error: closed(FACTS),
  }),

  ProviderError: {
    ...open({ error: OBJECT }),
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
