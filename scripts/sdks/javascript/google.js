/** Checks of the package @google/genai, with its default version of the API and with each version that the gateway serves. */
import assert from 'node:assert/strict';
import { ApiError, GoogleGenAI } from '@google/genai';
import { assertSimulated, check, group, key, PDF, PNG, PROMPT, SCHEMA, TOOL, url, WRONG_KEY } from './checks.js';

const model = 'demo-generate';
const isStatus = (status) => (error) => error instanceof ApiError && error.status === status;

const connect = (apiVersion, apiKey = key) =>
  new GoogleGenAI({ apiKey, httpOptions: { baseUrl: url, ...(apiVersion && { apiVersion }) } });

const CHECKS = {
  async text({ models }) {
    const reply = await models.generateContent({ model, contents: 'hello' });
    assertSimulated(reply.text);
    assert.ok(reply.usageMetadata.totalTokenCount > 0);
  },

  async stream({ models }) {
    let text = '';
    for await (const chunk of await models.generateContentStream({ model, contents: 'hello' }))
      text += chunk.text ?? '';
    assertSimulated(text);
  },

  async tool({ models }) {
    const declaration = { name: TOOL, description: 'Weather', parametersJsonSchema: SCHEMA };
    const config = { tools: [{ functionDeclarations: [declaration] }] };
    const asked = { role: 'user', parts: [{ text: PROMPT }] };
    const first = await models.generateContent({ model, config, contents: [asked] });
    const [call] = first.functionCalls;
    assert.deepEqual(call.args, { city: 'Paris' });
    const result = { functionResponse: { id: call.id, name: call.name, response: { result: 'sunny' } } };
    const contents = [asked, first.candidates[0].content, { role: 'user', parts: [result] }];
    assert.match((await models.generateContent({ model, config, contents })).text, /sunny/);
  },

  async image({ models }) {
    const contents = [{ text: 'hello' }, { inlineData: { data: PNG, mimeType: 'image/png' } }];
    assertSimulated((await models.generateContent({ model, contents })).text);
  },

  async 'token count'({ models }) {
    assert.ok((await models.countTokens({ model, contents: 'hello' })).totalTokens > 0);
  },

  async 'model list'({ models }) {
    const names = [];
    for await (const { name } of await models.list()) names.push(name);
    assert.ok(names.includes(`models/${model}`), names.join());
    assert.equal((await models.get({ model })).name, `models/${model}`);
  },
};

/** Uploads have one version of the API. */
async function checkFiles({ files, models }) {
  const upload = () =>
    files.upload({ file: new Blob([PDF], { type: 'application/pdf' }), config: { displayName: 'report.pdf' } });
  const made = await upload();
  await upload();
  assert.equal(made.state, 'ACTIVE');
  assert.equal((await files.get({ name: made.name })).displayName, 'report.pdf');
  const names = [];
  for await (const { name } of await files.list({ config: { pageSize: 1 } })) names.push(name);
  assert.ok(names.includes(made.name), names.join());
  if (group === 'generate') {
    const contents = [{ fileData: { fileUri: made.uri, mimeType: made.mimeType } }, { text: 'hello' }];
    assertSimulated((await models.generateContent({ model, contents })).text);
  }
  await files.delete({ name: made.name });
  await assert.rejects(files.get({ name: made.name }), isStatus(404));
}
await check('files', () => checkFiles(connect()));

for (const version of [undefined, 'v1', 'v1beta']) {
  const name = version ?? 'default version';
  if (group === 'generate') {
    for (const [what, run] of Object.entries(CHECKS)) await check(`${name}: ${what}`, () => run(connect(version)));
  } else {
    // Other groups have no endpoints of this dialect.
    await check(`${name}: unsupported group`, async () => {
      for (const what of ['text', 'stream', 'token count'])
        await assert.rejects(CHECKS[what](connect(version)), isStatus(404), what);
    });
  }
  await check(`${name}: wrong key`, async () => {
    for (const what of ['text', 'stream', 'token count', 'model list'])
      await assert.rejects(CHECKS[what](connect(version, WRONG_KEY)), isStatus(401), what);
  });
}
