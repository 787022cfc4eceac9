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
    'accepted reasoning efforts: none, minimal, low, medium, high, xhigh, max, or others; ' +
      'known ones become the nearest. `any`: unknown words pass',
    { example: '[low, high]' },
  ),
  prefill: can('a conversation may end with an assistant turn', 'false'),
  midSystem: can('system messages may appear in mid-conversation', 'false'),
  stop: can('stop sequences are accepted', 'true'),
  customTools: can('tools with free text are accepted', 'false'),
  explicitCache: can('cache breakpoints are accepted', 'false'),
  urlMedia: can('images and files may be named by https address', 'false'),
  maxOutput: f.fileField(f.count.optional(), 'largest output', { example: '8192', unit: 'tokens' }),
  outputLimitField: f.fileField(
    z.enum(['max_completion_tokens', 'max_tokens']).optional(),
    'name of the output limit',
    { example: 'max_tokens' },
  ),
  refusedFields: f.fileField(
    z.array(z.enum(CHAT_FIELDS)).optional(),
    'optional fields that the server rejects; they are dropped',
    { example: '[seed, logit_bias]' },
  ),
  toolChoices: f.fileField(z.array(z.enum(TOOL_CHOICE_FORMS)).optional(), 'forms of `tool_choice` beside `auto`', {
    example: '[none, required]',
  }),
  schemaFormat: f.fileField(
    z.enum(['json_schema', 'json_object', 'none']).optional(),
    'strictest response format; a schema that it lacks becomes an instruction',
    { example: 'json_object' },
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
