/** Betas of the Messages API at Bedrock, which refuses a request with any other one as an "invalid beta flag". */

/** Those that have the name of the provider's own API. */
const SAME: readonly string[] = [
  'compact-2026-01-12',
  'computer-use-2024-10-22',
  'computer-use-2025-01-24',
  'computer-use-2025-11-24',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'dangerous-tool-use-2026-09-03',
  'dev-full-thinking-2025-05-14',
  'effort-2025-11-24',
  'fine-grained-tool-streaming-2025-05-14',
  'interleaved-thinking-2025-05-14',
  'mid-conversation-output-config-2026-07-01',
  'mid-conversation-tool-changes-2026-07-01',
  'output-128k-2025-02-19',
  'thinking-binding-controls-2026-08-01',
  'thinking-display-updates-2026-08-18',
  'token-efficient-tools-2025-02-19',
  'tool-examples-2025-10-29',
  'tool-search-tool-2025-10-19',
];

/** The name at Bedrock by the one of the provider's own API. */
export const BEDROCK_BETAS: ReadonlyMap<string, string> = new Map([
  ...SAME.map((name) => [name, name] as const),
  ['advanced-tool-use-2025-11-20', 'tool-search-tool-2025-10-19'],
]);
