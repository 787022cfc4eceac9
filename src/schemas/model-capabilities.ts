/**
 * What a model accepts, over what its name is known for. Members of text and image models, and those of video models.
 */
import { z } from 'zod';
import * as rules from '../rules/index.ts';
import { AccountCapabilities, can } from './account-capabilities.ts';
import { count, fileField, MAX_INTEGER } from './field.ts';
import { VIDEO_MEMBERS } from './video-sheet.ts';

/** Names that the images API may carry, or `any`. */
const words = (description: string, example: string) =>
  fileField(
    z
      .union([z.array(z.string().regex(rules.OPEN_IMAGE_VALUE, 'a word of at most 32 characters')), z.literal('any')], {
        error: 'a list of words, or any for what its provider accepts',
      })
      .optional(),
    description,
    { example },
  );
const most = (description: string, example: string) =>
  fileField(
    z
      .union([z.int().min(1).max(MAX_INTEGER), z.literal('any')], {
        error: 'a whole number, or any for what its provider accepts',
      })
      .optional(),
    description,
    { example },
  );

/** Bounds what one call reserves. */
const MAX_ABILITY = 1_000;
/** What the model can put out and do by itself, which its calls reserve for. */
const ability = <T extends z.ZodType>(type: T, description: string, example: string) =>
  fileField(type.optional(), `${description}. Calls reserve for it`, {
    example,
    fallback: 'by its family; of no known family: yes, where its prices have a rate for it',
  });

const TEXT_MEMBERS = {
  ...AccountCapabilities.shape,
  thinking: fileField(
    z.enum(['adaptive', 'manual', 'both', 'none']).optional(),
    'forms of thinking of a messages model',
    { example: 'both' },
  ),
  thinkingOff: fileField(
    z.union([z.boolean(), z.literal('between_tools')], { error: 'true, false or between_tools' }).optional(),
    'whether thinking can be switched off',
    { example: 'false' },
  ),
  thinkingConfig: fileField(
    z.enum(['level', 'budget', 'none']).optional(),
    'how thinking of a generate-content model is set',
    { example: 'level' },
  ),
  thinkingBudget: fileField(
    z.tuple([z.int().min(0), z.int().min(0)], { error: 'a list of two whole numbers' }).optional(),
    'smallest and largest thinking budget',
    { example: '[128, 32768]', unit: 'tokens' },
  ),
  thinksByDefault: can('the model thinks without being asked to', 'true'),
  encryptedReasoning: can('reasoning is returned encrypted on request', 'true'),
  display: can('the display of reasoning can be chosen', 'true'),
  phase: can('assistant messages have a phase', 'true'),
  jsonSchemaTools: can('tools may have full JSON Schema', 'false'),
  functionsWithSearch: can('functions and web search may be offered together', 'false'),
  functionsWithSchema: can('functions and a response schema may be asked for together', 'false'),
  hostedTools: fileField(
    z.union([z.array(z.enum(rules.SERVER_TOOLS)), z.literal('any')], { error: 'a list of tools, or any' }).optional(),
    'tools of other dialects that its server can run',
    { example: '[web_search, code_exec]', fallback: '`any`: all that its dialect has' },
  ),
  resultMedia: can('tool results may hold media', 'false'),
  imageTokens: fileField(count.optional(), 'most tokens of one image in the input', {
    unit: 'tokens',
    example: '16000',
  }),
  imageOutput: can('replies may contain images', 'true'),
  imagesEndpoint: can('image requests reach a generate-content model by conversion', 'true'),
  imageSizes: words('sizes of the images API beside `auto` and those in pixels', '[1K, 2K, 4K]'),
  imagePixels: most('largest width x height', '16777216'),
  imageQualities: words('values of `quality`', '[low, high, auto, xhigh, max]'),
  imageFormats: words('values of `output_format`', '[png, webp, gif]'),
  imageBackgrounds: words('values of `background`', '[opaque, auto]'),
  imageModerations: words('values of `moderation`', '[auto]'),
  maxImages: most('largest `n`', '4'),
  pictures: ability(z.int().min(0).max(MAX_ABILITY), 'most pictures in one reply; 0: the model draws none', '1'),
  sound: ability(z.boolean(), 'replies may hold sound', 'false'),
  video: ability(z.boolean(), 'replies may hold videos', 'false'),
  searches: ability(
    z.int().min(0).max(MAX_ABILITY),
    'most searches that the model makes by itself for one reply; 0: it searches only by a tool of the request',
    '0',
  ),
  pages: ability(z.boolean(), 'the model reads pages or files by itself', 'false'),
  code: ability(z.boolean(), 'the model runs code by itself', 'false'),
  otherModels: ability(z.int().min(0).max(MAX_ABILITY), 'most calls of other models for one reply', '0'),
  ownLimit: ability(z.boolean(), 'the model may write more than the limit of the request', 'false'),
  converseFamily: fileField(
    z.enum(['anthropic', 'nova', 'other']).optional(),
    'whose fields a model of Bedrock Converse takes',
    { example: 'nova' },
  ),
} satisfies Record<keyof rules.Capabilities, z.ZodType>;

export const ModelCapabilities = z.strictObject({ ...TEXT_MEMBERS, ...VIDEO_MEMBERS });
export type ModelCapabilities = z.infer<typeof ModelCapabilities>;

/** Whether models of video groups have the member, or those of the other groups. */
export const isVideoCapability = (name: string): boolean => Object.hasOwn(VIDEO_MEMBERS, name);
