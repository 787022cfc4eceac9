/** Description and example of every request body that a client sends with an API key. */
import type { ENDPOINTS, Operation } from '../rules/index.ts';

export interface BodyDescription {
  readonly description: string;
  readonly example: object;
  /** True by default. */
  readonly required?: boolean;
}

type OperationWithBody = {
  [K in Operation]: (typeof ENDPOINTS)[K]['body']['content'] extends 'none' ? never : K;
}[Operation];

const CONVERTED =
  'All fields of the dialect. On a group of another dialect the fields are converted; docs/fidelity.md lists what is kept, changed, dropped or rejected.';
const NATIVE = 'All fields of the dialect; forwarded unchanged, but for the model name.';
const IMAGES =
  'Checked field by field before it is sent; fields that are not listed are forwarded unchanged, response_format is removed.';
const VIDEO = 'The fields of docs/contract/video.md; unknown fields are rejected.';

const HELLO = 'Hello!';
const MESSAGES = { model: 'demo-messages', max_tokens: 200, messages: [{ role: 'user', content: HELLO }] };
const RESPONSE = { model: 'demo-responses', input: HELLO };
const CONTENTS = { contents: [{ role: 'user', parts: [{ text: HELLO }] }] };
const IMAGE = { model: 'demo-image', prompt: 'a lamp', size: '1024x1024' };

export const BODY_DESCRIPTIONS: Readonly<Record<OperationWithBody, BodyDescription>> = {
  'messages.create': { description: CONVERTED, example: MESSAGES },
  'messages.count': { description: CONVERTED, example: { model: MESSAGES.model, messages: MESSAGES.messages } },
  'chat.create': { description: CONVERTED, example: { model: 'demo-messages', messages: MESSAGES.messages } },
  'responses.create': { description: CONVERTED, example: { ...RESPONSE, stream: true } },
  'responses.inputTokens': { description: CONVERTED, example: RESPONSE },
  'responses.compact': { description: CONVERTED, example: RESPONSE },
  'responses.cancel': { description: 'None is needed; a body is forwarded unchanged.', example: {}, required: false },
  'embeddings.create': { description: NATIVE, example: { model: 'demo-embedding', input: HELLO } },
  'images.generate': { description: IMAGES, example: IMAGE },
  'images.edit': { description: IMAGES, example: { ...IMAGE, image: 'lamp.png' } },
  'generate.create': { description: NATIVE, example: CONTENTS },
  'generate.stream': { description: NATIVE, example: CONTENTS },
  'generate.count': { description: NATIVE, example: CONTENTS },
  'generate.embed': { description: NATIVE, example: { content: { parts: [{ text: HELLO }] } } },
  'generate.batchEmbed': {
    description: NATIVE,
    example: { requests: [{ model: 'models/demo-embedding', content: { parts: [{ text: HELLO }] } }] },
  },
  'tasks.create': {
    description: VIDEO,
    example: {
      model: 'demo-video-a',
      content: [{ type: 'text', text: 'a lamp at night' }],
      duration: 5,
      ratio: '16:9',
    },
  },
  'videos.create': { description: VIDEO, example: { model: 'demo-video-a', prompt: 'a lamp at night', seconds: '5' } },
  'assetGroups.create': { description: VIDEO, example: { model: 'demo-video-a', name: 'Autumn', group_type: 'AIGC' } },
  'assets.create': {
    description: VIDEO,
    example: { group_id: 'assetgrp_1', asset_type: 'Image', url: 'https://example.com/lamp.png' },
  },
  'sessions.create': {
    description: VIDEO,
    example: { name: 'Presenter', redirect_url: 'https://example.com/verified' },
    required: false,
  },
};
