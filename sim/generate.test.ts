import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { GoogleGenAI } from '@google/genai';
import { CALLED, defined, PERSON, QUESTION, TIME, WEATHER } from './fixtures.ts';
import { type Sim, startSim } from './index.ts';

// The official client validates the shape of every response.

let sim: Sim;
let google: GoogleGenAI;

before(async () => {
  sim = await startSim();
  google = new GoogleGenAI({ apiKey: 'sk-any', httpOptions: { baseUrl: sim.url } });
});

after(() => sim.close());

describe('generateContent', () => {
  const model = 'demo-generate';
  const functionDeclarations = [WEATHER, TIME].map((tool) => ({
    name: tool.name,
    description: tool.description,
    parametersJsonSchema: tool.schema,
  }));
  const tools = [{ functionDeclarations }];

  test('streams the same reply that it returns', async () => {
    const unary = await google.models.generateContent({ model, contents: 'hello' });
    let text = '';
    let last = unary;
    for await (const chunk of await google.models.generateContentStream({ model, contents: 'hello' })) {
      text += chunk.text ?? '';
      last = chunk;
    }
    assert.equal(unary.text, 'This is a simulated answer from demo-generate. You said: "hello".');
    assert.equal(text, unary.text);
    assert.equal(last.candidates?.[0]?.finishReason, 'STOP');
    assert.equal(last.usageMetadata?.cachedContentTokenCount, 2);
    assert.equal(last.usageMetadata?.candidatesTokenCount, unary.usageMetadata?.candidatesTokenCount);
  });

  test('calls a signed function and quotes its result', async () => {
    const question = { role: 'user', parts: [{ text: QUESTION }] };
    const first = await google.models.generateContent({ model, contents: [question], config: { tools } });
    const content = defined(first.candidates?.[0]?.content);
    const part = defined(content.parts?.[0]);
    assert.deepEqual(part.functionCall?.args, CALLED);
    assert.ok(part.thoughtSignature);
    const { id, name } = defined(part.functionCall);
    const requestWith = (signed: typeof content) => ({
      model: `${model}@strict`,
      contents: [
        question,
        signed,
        {
          role: 'user',
          parts: [{ functionResponse: { ...(id && { id }), ...(name && { name }), response: { output: 'sunny' } } }],
        },
      ],
      config: { tools },
    });
    const second = await google.models.generateContent(requestWith(content));
    assert.match(defined(second.text), /get_weather returned: "sunny"/);
    const { thoughtSignature: _gone, ...unsigned } = part;
    await assert.rejects(
      google.models.generateContent(requestWith({ role: 'model', parts: [unsigned] })),
      /missing a thought_signature/,
    );
  });

  test('returns thoughts and counts them', async () => {
    const config = { thinkingConfig: { includeThoughts: true } };
    const parts = [];
    let thoughts = 0;
    for await (const chunk of await google.models.generateContentStream({ model, contents: 'hm', config })) {
      parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
      thoughts = chunk.usageMetadata?.thoughtsTokenCount ?? thoughts;
    }
    assert.ok(parts[0]?.thought && thoughts > 0);
    assert.ok(parts.at(-1)?.text === '' && parts.at(-1)?.thoughtSignature);
  });

  test('applies stop sequences, limits, formats and refusals, and validates schemas', async () => {
    const ask = (contents: string, config: object) => google.models.generateContent({ model, contents, config });
    assert.equal((await ask('x', { stopSequences: ['simulated'] })).text, 'This is a ');
    assert.equal((await ask('x', { maxOutputTokens: 2 })).candidates?.[0]?.finishReason, 'MAX_TOKENS');
    assert.equal((await ask('please refuse', {})).candidates?.[0]?.finishReason, 'SAFETY');
    assert.equal((await ask('please block', {})).promptFeedback?.blockReason, 'PROHIBITED_CONTENT');
    const formed = await ask('It is Ada', { responseMimeType: 'application/json', responseJsonSchema: PERSON });
    assert.equal(formed.text, '{"name":"Ada","age":1}');
    const body = {
      contents: [{ parts: [{ text: 'x' }] }],
      tools: [{ functionDeclarations: [{ name: 'f', parameters: PERSON }] }],
    };
    const headers = { 'x-goog-api-key': 'k' };
    const rejected = await fetch(`${sim.url}/v1beta/models/m:generateContent`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    assert.match(await rejected.text(), /Unknown name \\"additionalProperties\\"/);
  });

  test('streams a JSON array without alt=sse, counts tokens and lists models', async () => {
    const body = JSON.stringify({ contents: [{ parts: [{ text: 'x' }] }] });
    const url = `${sim.url}/v1beta/models/${model}:streamGenerateContent?key=k`;
    const chunks = (await (await fetch(url, { method: 'POST', body })).json()) as { candidates: unknown[] }[];
    assert.ok(chunks.length > 3 && chunks.every((chunk) => chunk.candidates.length === 1));
    assert.equal((await google.models.countTokens({ model, contents: '12345678' })).totalTokens, 2);
    const names = [];
    for await (const entry of await google.models.list()) names.push(entry.name);
    assert.deepEqual(names, [`models/${model}`, `models/${model}-image`]);
    assert.equal((await google.models.get({ model })).displayName, 'Simulated demo-generate');
  });
});
