/** Errors in the reference: their bodies, one schema per error format, and the responses of an operation by its codes. */
import { ERRORS, type ErrorCode, type ErrorFormat, errorRow, errorType } from '../../rules/index.ts';
import {
  ANY_OBJECT,
  arrayOf,
  described,
  INTEGER,
  JSON_TYPE,
  object,
  openObject,
  ref,
  type Schema,
  TEXT,
} from './schema.ts';

export const ERROR_SCHEMA_NAMES = {
  openai: 'OpenAiError',
  messages: 'MessagesError',
  generate: 'GenerateContentError',
  video: 'VideoError',
} as const satisfies Record<ErrorFormat, string>;

const message = described('for people; it may change', TEXT);
const type = described('the error type of the dialect', TEXT);
const code = ref('ErrorCode');

export const ERROR_SCHEMAS: Readonly<Record<string, Schema>> = {
  ErrorCode: { ...TEXT, description: 'Stable; docs/errors.md explains each code', enum: Object.keys(ERRORS) },
  OpenAiError: object({ error: ref('OpenAiErrorFacts') }),
  OpenAiErrorFacts: object({
    message,
    type,
    code,
    param: { type: ['string', 'null'], description: 'the field that is wrong, such as messages[2].content' },
  }),
  MessagesError: object({
    type: { const: 'error' },
    error: object(
      { type, message, code },
      { details: object({ error_code: described('a reason that SDKs act on', TEXT) }) },
    ),
    request_id: described('as in the header x-request-id', TEXT),
  }),
  GenerateContentError: object({
    error: object({
      code: described('the HTTP status', INTEGER),
      message,
      status: type,
      details: {
        ...arrayOf(object({ '@type': TEXT }, { reason: code, retryDelay: described('seconds, such as 5s', TEXT) })),
        description: 'google.rpc.ErrorInfo with the code as `reason`, and google.rpc.RetryInfo where a retry may help',
      },
    }),
  }),
  VideoError: object({ error: object({ message, type, code }) }),
  ProviderError: described(
    "An error of the provider, unchanged but for secrets: on the native path clients act on the provider's own words",
    openObject({ error: ANY_OBJECT }),
  ),
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
      const example = exampleOf(format, status, group[0]?.code ?? 'internal_error');
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

const EXAMPLES: Readonly<
  Record<ErrorFormat, (facts: { status: number; type: string; code: string; message: string }) => object>
> = {
  openai: ({ status: _, ...facts }) => ({ error: { ...facts, param: null } }),
  video: ({ status: _, ...facts }) => ({ error: facts }),
  messages: ({ status: _, ...facts }) => ({ type: 'error', error: facts, request_id: 'req_5d950c55' }),
  generate: ({ status, type, code, message }) => ({
    error: {
      code: status,
      message,
      status: type,
      details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code }],
    },
  }),
};

function exampleOf(format: ErrorFormat, status: number, code: ErrorCode): object {
  const { means, codeIn, typeIn } = errorRow(code);
  return EXAMPLES[format]({
    status,
    type: typeIn?.[format] ?? errorType(format, status),
    code: codeIn?.[format] ?? code,
    message: `${means.charAt(0).toUpperCase()}${means.slice(1)}.`,
  });
}
