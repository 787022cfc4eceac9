/** Checks of the video models of the AI SDK: the package polls the task, and downloads the video itself, without a key. */
import assert from 'node:assert/strict';
import { createByteDance } from '@ai-sdk/bytedance';
import * as ai from 'ai';
import { check, key, url, WRONG_KEY } from './checks.js';

globalThis.AI_SDK_LOG_WARNINGS = false;

const generateVideo = ai.experimental_generateVideo ?? ai.generateVideo;

/** The header asks for links that need no key. */
const modelWith = (apiKey) =>
  createByteDance({ baseURL: `${url}/api/v3`, apiKey, headers: { 'x-gateway-links': 'signed' } }).video('demo-video-a');

const OPTIONS = {
  prompt: 'a lamp on a desk',
  aspectRatio: '16:9',
  duration: 5,
  maxRetries: 0,
  // The package refuses addresses of this machine, such as that of the demo.
  download: async ({ url: link }) => {
    const response = await fetch(link);
    assert.equal(response.status, 200);
    return { data: await response.bytes(), mediaType: response.headers.get('content-type') };
  },
  providerOptions: { bytedance: { pollIntervalMs: 500 } },
};

await check('video with its download', async () => {
  const { video } = await generateVideo({ model: modelWith(key), ...OPTIONS });
  assert.equal(video.mediaType, 'video/mp4');
  assert.equal(Buffer.from(video.uint8Array).toString('latin1', 4, 8), 'ftyp');
});

await check('wrong key', () => assert.rejects(generateVideo({ model: modelWith(WRONG_KEY), ...OPTIONS })));
