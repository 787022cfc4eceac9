/** Support of each hub field by Converse: that of the Messages API, apart from these. The encoder reports what a single model lacks. */
import type { SupportTable } from '../../hub/fields.ts';
import { support as messagesSupport } from '../../messages/index.ts';

export const support: SupportTable = {
  ...messagesSupport,
  maxToolCalls: 'dropped',
  compaction: 'dropped',
  /** The API generates at least one token. */
  prewarm: 'rejected',
  parallelTools: 'dropped',
  userId: 'dropped',
  /** Into the invocation logs. */
  metadata: 'changed',
};
