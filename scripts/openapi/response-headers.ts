/** Response headers that the gateway sets, for the reference. */
import { rowsIn, type Words } from '../../src/rules/index.ts';

export interface ResponseHeader {
  readonly about: string;
  readonly example: string;
  /** Which responses have it; see scripts/openapi/headers.ts. */
  readonly on: Words<'every messages wait error limited converted fallback counted deprecated range'>;
}

export const RESPONSE_HEADERS = rowsIn(
  `
x-request-id: every | id of the request, for questions to the operator | req_5d950c55
request-id: messages | the same as 'x-request-id' | req_5d950c55
retry-after: wait | seconds after which a retry can succeed | 5
x-should-retry: error | 'false': a retry cannot succeed; 'true': it can, after 'retry-after' | false
x-ratelimit-limit-requests: limited | requests per minute | 60
x-ratelimit-remaining-requests: limited | requests that are left | 59
x-ratelimit-reset-requests: limited | time until all are free again | 1s
x-ratelimit-limit-tokens: limited | tokens per minute | 100000
x-ratelimit-remaining-tokens: limited | tokens that are left | 99000
x-ratelimit-reset-tokens: limited | time until all are free again | 1s
x-gateway-converted: converted | dialects of the client and of the provider, of a converted request | chat->messages
x-gateway-dropped: converted | fields of the request that did not reach the provider; after 'reply.' content that the API of the client cannot express | seed,reply.mcp
x-gateway-upstream-model: converted | the provider's name for the model | demo-messages
x-gateway-fallback: fallback | the group and model that served the call, because no account of its own group could | openai/gpt-5
x-gateway-token-count: counted | 'estimated': the gateway counted, because no provider can | estimated
deprecation: deprecated | the operation is deprecated since this time | @1767225600
sunset: deprecated | the operation may be gone from this time on | Wed, 01 Jul 2026 00:00:00 GMT
content-range: range | the part of the file, and its size | bytes 0-1023/4096
`,
  ([on = '', about = '', example = '']): ResponseHeader => ({ on: on as ResponseHeader['on'], about, example }),
);
export type ResponseHeaderName = keyof typeof RESPONSE_HEADERS;
