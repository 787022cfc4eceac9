/** Groups of provider accounts. */
import { z } from 'zod';
import { STYLES, UNKNOWN_MEMBERS, VIDEO_VARIANTS } from '../rules/index.ts';
import * as f from './field.ts';

const fields = z.strictObject({
  id: f.fileField(f.id, 'name of the group, in keys, models and accounts', { example: 'openai' }),
  style: f.fileField(
    z.enum([...STYLES, 'video']),
    'API of its providers: `responses` for OpenAI and compatible servers, `messages` for Anthropic, ' +
      '`generate-content` for Gemini',
    { example: 'responses' },
  ),
  variant: f.fileField(
    z.enum(VIDEO_VARIANTS).optional(),
    'of a video group, and of no other: which parameters its models accept',
    { example: 'A' },
  ),
  name: f.fileField(z.string().min(1).max(200).optional(), 'text for people', {
    example: '"OpenAI, EU accounts"',
    fallback: 'the id',
  }),
  multiplier: f.fileField(f.factor.optional(), 'of every price of the group', { example: '"1.2"', fallback: '"1"' }),
  unknown_members: f.fileField(
    z.enum(UNKNOWN_MEMBERS).optional(),
    'what happens to a request with a member that the gateway does not know: ' +
      '`bound` reserves the most that its model can cost, `reject` refuses the request and names the member',
    { example: 'reject', fallback: 'bound' },
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
