/** Response headers that the gateway sets, for the reference. */

export interface ResponseHeader {
  readonly about: string;
  readonly example: string;
  /** Which responses have it; see scripts/openapi/headers.ts. */
  readonly on:
    | 'every'
    | 'messages'
    | 'wait'
    | 'error'
    | 'limited'
    | 'converted'
    | 'fallback'
    | 'counted'
    | 'deprecated'
    | 'range';
}

export const RESPONSE_HEADERS = {
  'x-request-id': { on: 'every', about: 'id of the request, for questions to the operator', example: 'req_5d950c55' },
  'request-id': { on: 'messages', about: 'the same as `x-request-id`', example: 'req_5d950c55' },
  'retry-after': { on: 'wait', about: 'seconds after which a retry can succeed', example: '5' },
  'x-should-retry': {
    on: 'error',
    about: '`false`: a retry cannot succeed; `true`: it can, after `retry-after`',
    example: 'false',
  },
  'x-ratelimit-limit-requests': { on: 'limited', about: 'requests per minute', example: '60' },
  'x-ratelimit-remaining-requests': { on: 'limited', about: 'requests that are left', example: '59' },
  'x-ratelimit-reset-requests': { on: 'limited', about: 'time until all are free again', example: '1s' },
  'x-ratelimit-limit-tokens': { on: 'limited', about: 'tokens per minute', example: '100000' },
  'x-ratelimit-remaining-tokens': { on: 'limited', about: 'tokens that are left', example: '99000' },
  'x-ratelimit-reset-tokens': { on: 'limited', about: 'time until all are free again', example: '1s' },
  'x-gateway-converted': {
    on: 'converted',
    about: 'dialects of the client and of the provider, of a converted request',
    example: 'chat->messages',
  },
  'x-gateway-dropped': {
    on: 'converted',
    about:
      'fields of the request that did not reach the provider; ' +
      'after `reply.` content that the API of the client cannot express',
    example: 'seed,reply.mcp',
  },
  'x-gateway-upstream-model': { on: 'converted', about: "the provider's name for the model", example: 'demo-messages' },
  'x-gateway-fallback': {
    on: 'fallback',
    about: 'the group and model that served the call, because no account of its own group could',
    example: 'openai/gpt-5',
  },
  'x-gateway-token-count': {
    on: 'counted',
    about: '`estimated`: the gateway counted, because no provider can',
    example: 'estimated',
  },
  deprecation: { on: 'deprecated', about: 'the operation is deprecated since this time', example: '@1767225600' },
  sunset: {
    on: 'deprecated',
    about: 'the operation may be gone from this time on',
    example: 'Wed, 01 Jul 2026 00:00:00 GMT',
  },
  'content-range': { on: 'range', about: 'the part of the file, and its size', example: 'bytes 0-1023/4096' },
} as const satisfies Record<string, ResponseHeader>;
export type ResponseHeaderName = keyof typeof RESPONSE_HEADERS;
