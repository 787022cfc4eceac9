/** Names of the hub fields in the chat dialect, for `x-gateway-dropped` and errors. */
import { COMMON_NAMES, type FieldNames } from '../../hub/fields.ts';

export const fieldNames: FieldNames = {
  ...COMMON_NAMES,
  conversation: 'messages',
  thoughts: 'messages.reasoning_content',
  searchTool: 'web_search_options',
  /** Search is the only hosted tool that a chat client can request, besides the image tool. */
  hostedTools: 'web_search_options',
  imageHistory: 'messages.images',
  reasoning: 'reasoning_effort',
  structuredOutput: 'response_format',
  imageDetail: 'image_url.detail',
  strictTools: 'tools.function.strict',
  prewarm: 'max_completion_tokens',
};
