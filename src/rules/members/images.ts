/** Members of image requests: openai, `ImageGenerateParams`, `ImageEditParams`. What plans, animates or rewrites a picture has no bound here. */
import { readKinds } from './kind.ts';

export const IMAGE_MEMBERS = readKinds(`
request text: model prompt
request pictures: n size quality partial_images input_fidelity images:source mask:source
request delivery: background output_format output_compression moderation stream response_format style
request label: user safety_identifier
request model: svg:svg
source: image_url file_id
svg: model=model reasoning*
`);
