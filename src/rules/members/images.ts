/**
 * Members of image requests: openai, `ImageGenerateParams`, `ImageEditParams`. What plans, animates or rewrites a
 * picture has no bound here.
 */
import { objectKinds } from './kind.ts';

export const IMAGE_MEMBERS = objectKinds({
  request: [
    { why: 'text', members: ['model', 'prompt'] },
    {
      why: 'pictures',
      members: ['n', 'size', 'quality', 'partial_images', 'input_fidelity', 'images:source', 'mask:source'],
    },
    {
      why: 'delivery',
      members: [
        'background',
        'output_format',
        'output_compression',
        'moderation',
        'stream',
        'response_format',
        'style',
      ],
    },
    { why: 'label', members: ['user', 'safety_identifier'] },
    { why: 'model', members: ['svg:svg'] },
  ],
  source: { members: ['image_url', 'file_id'] },
  svg: { members: ['model=model', 'reasoning*'] },
});
