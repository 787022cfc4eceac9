/** Errors of Bedrock as those of the Messages API, and its token counts. */
import type { ResponseListener } from '../../../platform/http/index.ts';
import { changedResponse } from './changed-response.ts';
import type { MadeResponse } from './cloud.ts';
import type { CloudError } from './messages-errors.ts';
import { parseObject } from './token-request.ts';

/** The status that the provider's own API has for an error, by the name of the exception. */
const STATUSES: readonly (readonly [name: RegExp, status: number])[] = [
  [/^(?:UnrecognizedClient|InvalidSignature|IncompleteSignature)/, 401],
  [/^(?:ExpiredToken|MissingAuthenticationToken|InvalidClientTokenId)/, 401],
  [/^(?:Throttling|ServiceQuotaExceeded|TooManyRequests)/, 429],
  [/^(?:ModelNotReady|ServiceUnavailable)/, 503],
  [/^ModelTimeout/, 504],
  [/^(?:ModelError|ModelStreamError|InternalServer)/, 500],
  [/^ResourceNotFound/, 404],
  [/^AccessDenied/, 403],
  [/^Validation/, 400],
];
/** Of validations: the model cannot be used like this, though the request is valid. */
const NO_SUCH_MODEL =
  /model identifier is invalid|on-demand throughput isn.t supported|model doesn.t support counting tokens/i;
const BAD_KEY = /^Authentication failed|api key/i;

export function messagesStatus(name: string, message: string, status: number): number {
  if (status === 400 && NO_SUCH_MODEL.test(message)) return 404;
  if (status === 403 && BAD_KEY.test(message)) return 401;
  const exception = name.charAt(0).toUpperCase() + name.slice(1);
  return STATUSES.find(([form]) => form.test(exception))?.[1] ?? status;
}

export function bedrockError({ status, headers, body }: MadeResponse): CloudError | undefined {
  const { message, Message, __type, type } = parseObject(body.toString('utf8')) ?? {};
  if (type === 'error') return undefined;
  const [name = ''] = String(headers['x-amzn-errortype'] ?? __type ?? '').split(':');
  const text = [message, Message].find((value) => typeof value === 'string') ?? `HTTP ${status}`;
  return { status: messagesStatus(name.replace(/^.*#/, ''), String(text), status), message: String(text) };
}

const MAX_COUNT_BYTES = 4_096;

export const bedrockCount = (listener: ResponseListener): ResponseListener =>
  changedResponse(listener, {
    applies: (status) => status === 200,
    maxBytes: MAX_COUNT_BYTES,
    change(response) {
      const { inputTokens } = parseObject(response.body.toString('utf8')) ?? {};
      return { ...response, body: Buffer.from(JSON.stringify({ input_tokens: inputTokens })) };
    },
  });
