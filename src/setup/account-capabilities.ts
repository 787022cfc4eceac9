/** The schema of an account's capabilities: what its server accepts, whichever model it serves. */
import { z } from 'zod';
import { CHAT_FIELDS, REASONING_HISTORIES, THINKING_FIELDS, TOOL_CHOICE_FORMS } from '../rules/index.ts';

export const AccountCapabilities = z.strictObject({
  sampling: z.enum(['full', 'none']).optional(),
  efforts: z.array(z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])).optional(),
  prefill: z.boolean().optional(),
  midSystem: z.boolean().optional(),
  stop: z.boolean().optional(),
  customTools: z.boolean().optional(),
  explicitCache: z.boolean().optional(),
  urlMedia: z.boolean().optional(),
  maxOutput: z
    .number()
    .int()
    .positive()
    .max(2 ** 31 - 1)
    .optional(),
  outputLimitField: z.enum(['max_completion_tokens', 'max_tokens']).optional(),
  refusedFields: z.array(z.enum(CHAT_FIELDS)).optional(),
  toolChoices: z.array(z.enum(TOOL_CHOICE_FORMS)).optional(),
  schemaFormat: z.enum(['json_schema', 'json_object', 'none']).optional(),
  textParts: z.boolean().optional(),
  imageInput: z.boolean().optional(),
  thinkingField: z.enum(THINKING_FIELDS).optional(),
  reasoningHistory: z.enum(REASONING_HISTORIES).optional(),
  thinkTags: z.boolean().optional(),
});
