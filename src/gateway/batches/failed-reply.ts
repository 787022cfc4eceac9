/** Results of requests whose reply cannot be the result, in the shape of a reply. */
import { BATCHES, type ErrorCode, errorType } from '../../rules/index.ts';

export interface FailedReply {
  readonly status: number;
  readonly content: Buffer;
}

const failedReply = (status: number, code: ErrorCode, message: string): FailedReply => ({
  status,
  content: Buffer.from(
    JSON.stringify({ type: 'error', error: { type: errorType('openai', status), code, param: null, message } }),
  ),
});
const MIB = 2 ** 20;

export const GONE = failedReply(404, 'file_not_found', 'The file with the requests was deleted.');
export const UNUSABLE = failedReply(
  502,
  'upstream_error',
  `The reply is not whole, or larger than ${BATCHES.replyBytes / MIB} MiB. It may have been charged.`,
);
export const NO_ROOM = failedReply(
  502,
  'upstream_error',
  `The results of the batch are larger than ${BATCHES.resultBytes / MIB} MiB. The request was served, and charged.`,
);
export const RESULT_MISSING = failedReply(
  502,
  'upstream_error',
  'The provider ended the batch without a result of this request. It was not charged.',
);
