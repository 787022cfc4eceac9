/** Groups of provider accounts. */
import { z } from 'zod';
import { STYLES, UNKNOWN_MEMBERS, VIDEO_VARIANTS } from '../rules/index.ts';
import * as f from './field.ts';

const fields = z.strictObject({
  ...f.fileFields(
    `
id: name of the group, in keys, models and accounts | openai
style: API of its providers: 'responses' for OpenAI and compatible servers, 'messages' for Anthropic, 'generate-content' for Gemini | responses
variant: of a video group, and of no other: which parameters its models accept | A
name: text for people | "OpenAI, EU accounts" | the id
multiplier: of every price of the group | "1.2" | "1"
unknown_members: what happens to a request with a member that the gateway does not know: 'bound' reserves the most that its model can cost, 'reject' refuses the request and names the member | reject | bound
`,
    {
      id: f.id,
      style: z.enum([...STYLES, 'video']),
      variant: z.enum(VIDEO_VARIANTS).optional(),
      name: z.string().min(1).max(200).optional(),
      multiplier: f.factor.optional(),
      unknown_members: z.enum(UNKNOWN_MEMBERS).optional(),
    },
  ),
});

export const GroupEntry = fields.refine((group) => (group.style === 'video') === (group.variant !== undefined), {
  path: ['variant'],
  error: 'A, EP or HC for style video, and for no other style',
});

export const ShownGroup = fields
  .required()
  .extend({ variant: z.enum(VIDEO_VARIANTS).nullable(), position: f.integer, created_at: f.moment })
  .meta({ id: 'Group' });
export type ShownGroup = z.infer<typeof ShownGroup>;
export type GroupStyle = ShownGroup['style'];
