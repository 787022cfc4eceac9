/** The chat-completions servers that the simulator plays; `servers.ts` describes them. */
export const CHAT_SERVER_NAMES = [
  'small',
  'vllm',
  'deepseek',
  'mistral',
  'minimax',
  'moonshot',
  'groq',
  'openrouter',
] as const;
export type ChatServerName = (typeof CHAT_SERVER_NAMES)[number];
