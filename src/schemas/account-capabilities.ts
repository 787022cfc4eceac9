/** What the server of an account accepts, whichever model it serves. */
import { z } from 'zod';
import { CHAT_FIELDS, EFFORT_WORD, REASONING_HISTORIES, THINKING_FIELDS, TOOL_CHOICE_FORMS } from '../rules/index.ts';
import * as f from './field.ts';

export const can = (description: string, example: 'true' | 'false') =>
  f.fileField(z.boolean().optional(), description, { example });

export const AccountCapabilities = z.strictObject({
  sampling: f.fileField(z.enum(['full', 'none']).optional(), 'whether temperature and its like are accepted', {
    example: 'none',
  }),
  efforts: f.fileField(
    z.array(z.string().regex(EFFORT_WORD, 'a word of at most 32 small letters')).optional(),
    'accepted reasoning efforts: none, minimal, low, medium, high, xhigh, max, or others; known ones become the nearest. `any`: unknown words pass',
    { example: '[low, high]' },
  ),
  prefill: can('a conversation may end with an assistant turn', 'false'),
  midSystem: can('system messages may appear in mid-conversation', 'false'),
  stop: can('stop sequences are accepted', 'true'),
  customTools: can('tools with free text are accepted', 'false'),
  explicitCache: can('cache breakpoints are accepted', 'false'),
  urlMedia: can('images and files may be named by https address', 'false'),
  ...f.fileFields(
    `
maxOutput: largest output | 8192 | - | tokens
outputLimitField: name of the output limit | max_tokens
refusedFields: optional fields that the server rejects; they are dropped | [seed, logit_bias]
toolChoices: forms of 'tool_choice' beside 'auto' | [none, required]
schemaFormat: strictest response format; a schema that it lacks becomes an instruction | json_object
`,
    {
      maxOutput: f.count.optional(),
      outputLimitField: z.enum(['max_completion_tokens', 'max_tokens']).optional(),
      refusedFields: z.array(z.enum(CHAT_FIELDS)).optional(),
      toolChoices: z.array(z.enum(TOOL_CHOICE_FORMS)).optional(),
      schemaFormat: z.enum(['json_schema', 'json_object', 'none']).optional(),
    },
  ),
  textParts: can('content may be a list of text parts', 'false'),
  imageInput: can('images may be sent', 'false'),
  thinkingField: f.fileField(z.enum(THINKING_FIELDS).optional(), 'field that asks the server to think', {
    example: 'enable_thinking',
  }),
  reasoningHistory: f.fileField(z.enum(REASONING_HISTORIES).optional(), 'how reasoning goes back with tool calls', {
    example: 'reasoning_content',
  }),
  thinkTags: can('replies may begin with `<think>`', 'true'),
});
