/** Lossy points of generated images. */
import { assistantMessage, encodes, FIND, fromFile, type Row, rejects, returns, unaryReply, user } from './row.ts';

const PNG = 'iVBORw0KGgo=';
const DATA_URL = `data:image/png;base64,${PNG}`;
const PICTURE = [{ text: 'Look: ' }, { inlineData: { mimeType: 'image/png', data: PNG } }];
/** A model that generates images, and one that does not. */
const IMAGE_MODEL = { target: { model: 'gemini-2.5-flash-image' } };
const TEXT_MODEL = { target: { model: 'gemini-2.5-flash' } };
const ONLY_TEXT = { target: { capabilities: { imageOutput: false } } };

const tool = (options: object = {}) => ({ tools: [{ type: 'image_generation', ...options }] });
const FORCED = { ...tool(), tool_choice: { type: 'image_generation' } };
const config = (generationConfig: object) => ({ body: { generationConfig } });
const BOTH = ['TEXT', 'IMAGE'];
const NOT_FORCED = { code: 'unsupported_parameter', param: 'tools[0]' };
const NOT_ONLY = { code: 'unsupported_parameter', param: 'modalities' };

const CALL = { type: 'image_generation_call', id: 'ig_1', status: 'completed' };
const drawn = (call: object) => ({ input: [user('A cat.'), call, user('Now at night.')] });
const shown = {
  messages: [
    user('A cat.'),
    { role: 'assistant', content: 'Here.', images: [{ type: 'image_url', image_url: { url: DATA_URL } }] },
    user('Now at night.'),
  ],
};
const INLINE = { inlineData: { mimeType: 'image/png', data: PNG } };

export const IMAGES: Readonly<Record<number, Row>> = {
  54: {
    summary:
      'A generated image is returned to responses clients, and to chat clients in `images`; messages clients get a note instead.',
    conversions: [
      ...(['messages over generate', 'chat over generate', 'responses over generate'] as const),
      ...(['messages over responses', 'chat over responses'] as const),
    ],
    outcomes: ['changed', 'dropped'],
    vectors: [
      returns('messages over generate', unaryReply.generate(PICTURE), {
        body: { content: [{ text: 'Look: ' }, { text: '[image omitted]' }] },
        nowhere: [PNG],
      }),
      returns('chat over generate', unaryReply.generate(PICTURE), {
        body: { choices: [{ message: { content: 'Look: ', images: [{ image_url: { url: DATA_URL } }] } }] },
      }),
      returns('responses over generate', unaryReply.generate(PICTURE), {
        body: { output: [{ type: 'message' }, { type: 'image_generation_call', output_format: 'png', result: PNG }] },
      }),
      ...[{ modalities: ['text', 'image'] }, tool()].map((request) =>
        returns(
          'chat over generate',
          unaryReply.generate(PICTURE),
          {
            body: {
              choices: [
                {
                  message: { content: 'Look: ', images: [{ type: 'image_url', image_url: { url: DATA_URL } }] },
                  finish_reason: 'stop',
                },
              ],
            },
          },
          { request, ...IMAGE_MODEL },
        ),
      ),
      returns('chat over responses', unaryReply.responses([{ ...CALL, result: PNG }, assistantMessage('Look.')]), {
        body: { choices: [{ message: { content: 'Look.', images: [{ image_url: { url: DATA_URL } }] } }] },
      }),
      fromFile('chat-generate-image.json'),
      fromFile('chat-responses-image.json'),
      fromFile('messages-responses-image.json'),
      fromFile('responses-generate-image.json'),
    ],
  },
  62: {
    summary:
      'The image tool becomes the image modality of a model that generates images: its size becomes an aspect ratio and a tier, its other options are dropped. Other models drop it beside functions; alone or forced it is rejected.',
    conversions: [
      ...(['responses over generate', 'chat over generate'] as const),
      ...(['responses over messages', 'chat over messages'] as const),
    ],
    outcomes: ['changed', 'dropped', 'rejected'],
    vectors: (['responses', 'chat'] as const).flatMap((client) => [
      encodes(
        `${client} over generate`,
        tool({ size: 'auto', quality: 'auto', partial_images: 0 }),
        { ...config({ responseModalities: BOTH }), absent: ['tools', 'generationConfig.imageConfig'], dropped: [] },
        IMAGE_MODEL,
      ),
      ...Object.entries({
        '1024x1024': { aspectRatio: '1:1' },
        '1536x1024': { aspectRatio: '3:2' },
        '1024x1536': { aspectRatio: '2:3' },
        '1536x864': { aspectRatio: '16:9' },
        '2048x2048': { aspectRatio: '1:1', imageSize: '2K' },
        '2160x3840': { aspectRatio: '9:16', imageSize: '4K' },
      }).map(([size, imageConfig]) =>
        encodes(
          `${client} over generate`,
          tool({ size }),
          { ...config({ responseModalities: BOTH, imageConfig }), dropped: [] },
          IMAGE_MODEL,
        ),
      ),
      encodes(
        `${client} over generate`,
        tool({ size: '1000x700', quality: 'high', output_format: 'webp', background: 'transparent' }),
        {
          ...config({ responseModalities: BOTH }),
          absent: ['generationConfig.imageConfig'],
          dropped: ['tools.quality', 'tools.output_format', 'tools.background', 'tools.size'],
        },
        IMAGE_MODEL,
      ),
      ...[FORCED, { ...tool(), tool_choice: 'required' }].flatMap((request) => [
        encodes(`${client} over generate`, request, config({ responseModalities: ['IMAGE'] }), IMAGE_MODEL),
        rejects(`${client} over generate`, request, NOT_FORCED, TEXT_MODEL),
        rejects(`${client} over messages`, request, NOT_FORCED),
      ]),
      encodes(
        `${client} over generate`,
        { ...tool(), tool_choice: 'none' },
        { absent: ['generationConfig.responseModalities'] },
        IMAGE_MODEL,
      ),
      rejects(`${client} over generate`, tool(), NOT_FORCED),
      encodes(
        `${client} over messages`,
        { tools: [FIND[client], ...tool().tools] },
        { body: { tools: [{ name: 'find' }] }, nowhere: ['image_generation'], dropped: ['tools'] },
      ),
    ]),
  },
  63: {
    summary:
      'The image modality becomes the image tool of a responses provider, forced for images only. A model without image output drops it next to text, and rejects it alone.',
    conversions: ['chat over responses', 'chat over generate', 'chat over messages'],
    outcomes: ['changed', 'dropped', 'rejected'],
    vectors: [
      encodes(
        'chat over responses',
        { modalities: ['text', 'image'], image_config: { aspect_ratio: '9:16', image_size: '4K' } },
        { body: { tools: [{ type: 'image_generation', size: '2160x3840' }] }, dropped: [] },
      ),
      encodes(
        'chat over responses',
        { modalities: ['image'], image_config: { aspect_ratio: '1:8' } },
        {
          body: { tools: [{ type: 'image_generation' }], tool_choice: { type: 'image_generation' } },
          absent: ['tools[0].size'],
          dropped: ['image_config'],
        },
      ),
      encodes('chat over responses', tool({ quality: 'high', partial_images: 2 }), {
        body: { tools: [{ type: 'image_generation', quality: 'high' }] },
        nowhere: ['partial_images'],
        dropped: ['tools.partial_images'],
      }),
      encodes('chat over responses', FORCED, { body: { tool_choice: { type: 'image_generation' } }, dropped: [] }),
      encodes(
        'chat over responses',
        { tools: [FIND.chat, ...tool().tools], modalities: ['text', 'image'] },
        { nowhere: ['image_generation'], dropped: ['tools', 'modalities'] },
        ONLY_TEXT,
      ),
      rejects('chat over responses', { modalities: ['image'] }, NOT_ONLY, ONLY_TEXT),
      rejects('chat over responses', FORCED, NOT_FORCED, ONLY_TEXT),
      encodes(
        'chat over generate',
        { modalities: ['image', 'text'], image_config: { aspect_ratio: '21:9', image_size: '2K' } },
        config({ responseModalities: ['IMAGE', 'TEXT'], imageConfig: { aspectRatio: '21:9', imageSize: '2K' } }),
        IMAGE_MODEL,
      ),
      encodes(
        'chat over generate',
        { modalities: ['text', 'image'], image_config: { image_size: '2K' } },
        { ...config({ responseModalities: ['TEXT'] }), nowhere: ['2K'], dropped: ['modalities', 'image_config'] },
        TEXT_MODEL,
      ),
      rejects('chat over generate', { modalities: ['image'] }, NOT_ONLY, TEXT_MODEL),
      encodes(
        'chat over messages',
        { modalities: ['text', 'image'], image_config: { image_size: '2K' } },
        { nowhere: ['modalities'], dropped: ['modalities', 'image_config'] },
      ),
      rejects('chat over messages', { modalities: ['image'] }, NOT_ONLY),
    ],
  },
  64: {
    summary:
      'An image that a model generated earlier is sent to generate-content providers as inline data. An image call without its result, and images for other providers, are dropped; messages providers get a note.',
    conversions: [
      ...(['responses over generate', 'chat over generate'] as const),
      ...(['responses over messages', 'chat over messages', 'chat over responses'] as const),
    ],
    outcomes: ['changed', 'dropped'],
    vectors: [
      encodes(
        'responses over generate',
        drawn({ ...CALL, result: PNG }),
        {
          body: { contents: [{ role: 'user' }, { role: 'model', parts: [INLINE] }, { role: 'user' }] },
          absent: ['contents[1].parts[0].thoughtSignature'],
          dropped: [],
        },
        IMAGE_MODEL,
      ),
      // A model with thinking levels requires a signature on every image of the model.
      encodes(
        'responses over generate',
        drawn({ ...CALL, result: PNG }),
        { body: { contents: [{}, { parts: [{ ...INLINE, thoughtSignature: { $match: '.' } }] }, {}] } },
        { target: { model: 'gemini-3-pro-image-preview' } },
      ),
      encodes('responses over generate', drawn(CALL), {
        body: { contents: [{ role: 'user', parts: [{ text: 'A cat.' }, { text: 'Now at night.' }] }] },
        dropped: ['input.image_generation_call'],
      }),
      encodes(
        'chat over generate',
        shown,
        { body: { contents: [{}, { role: 'model', parts: [{ text: 'Here.' }, INLINE] }, {}] }, dropped: [] },
        IMAGE_MODEL,
      ),
      encodes('responses over messages', drawn({ ...CALL, result: PNG }), {
        body: { messages: [{}, { role: 'assistant', content: [{ text: '[image omitted]' }] }, {}] },
        nowhere: [PNG],
        dropped: ['input.image_generation_call'],
      }),
      encodes('chat over messages', shown, {
        body: { messages: [{}, { content: [{ text: 'Here.' }, { text: '[image omitted]' }] }, {}] },
        nowhere: [PNG],
        dropped: ['messages.images'],
      }),
      encodes('chat over responses', shown, {
        body: { input: [{}, { role: 'assistant', content: [{ text: 'Here.' }] }, {}] },
        nowhere: [PNG],
        dropped: ['messages.images'],
      }),
    ],
  },
};
