/** The official SDKs. Each appends its own paths to the base URL: OpenAI's expect `/v1` in it, the others do not. */
import { type ClientRow, HELLO, python, pythonImports, pythonKey, scriptKey, typescript } from './client.ts';

export const SDK_CLIENTS = {
  'openai-ts': {
    name: 'OpenAI TypeScript',
    operation: 'responses.create',
    ...typescript('openai'),
    isTested: true,
    lines: ({ origin, model, key }) => `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${origin}/v1', apiKey: ${scriptKey(key)} });
const stream = await client.responses.create({ model: '${model}', input: '${HELLO}', stream: true });
for await (const event of stream) if (event.type === 'response.output_text.delta') process.stdout.write(event.delta);`,
  },
  'openai-python': {
    name: 'OpenAI Python',
    operation: 'responses.create',
    ...python('openai'),
    lines: ({ origin, model, key }) => `${pythonImports(key)}from openai import OpenAI

client = OpenAI(base_url="${origin}/v1", api_key=${pythonKey(key)})
stream = client.responses.create(model="${model}", input="${HELLO}", stream=True)
for event in stream:
    if event.type == "response.output_text.delta":
        print(event.delta, end="")`,
  },
  'anthropic-ts': {
    name: 'Anthropic TypeScript',
    operation: 'messages.create',
    ...typescript('@anthropic-ai/sdk'),
    isTested: true,
    lines: ({ origin, model, key }) => `import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({ baseURL: '${origin}', apiKey: ${scriptKey(key)} });
const stream = client.messages.stream({
  model: '${model}',
  max_tokens: 200,
  messages: [{ role: 'user', content: '${HELLO}' }],
});
stream.on('text', (text) => process.stdout.write(text));
await stream.done();`,
  },
  'anthropic-python': {
    name: 'Anthropic Python',
    operation: 'messages.create',
    ...python('anthropic'),
    lines: ({ origin, model, key }) => `${pythonImports(key)}from anthropic import Anthropic

client = Anthropic(base_url="${origin}", api_key=${pythonKey(key)})
with client.messages.stream(
    model="${model}",
    max_tokens=200,
    messages=[{"role": "user", "content": "${HELLO}"}],
) as stream:
    for text in stream.text_stream:
        print(text, end="")`,
  },
  'google-ts': {
    name: 'Google TypeScript',
    operation: 'generate.stream',
    ...typescript('@google/genai'),
    isTested: true,
    lines: ({ origin, model, key }) => `import { GoogleGenAI } from '@google/genai';

const client = new GoogleGenAI({ apiKey: ${scriptKey(key)}, httpOptions: { baseUrl: '${origin}' } });
const stream = await client.models.generateContentStream({ model: '${model}', contents: '${HELLO}' });
for await (const chunk of stream) process.stdout.write(chunk.text ?? '');`,
  },
  'google-python': {
    name: 'Google Python',
    operation: 'generate.stream',
    ...python('google-genai'),
    lines: ({ origin, model, key }) => `${pythonImports(key)}from google import genai

client = genai.Client(api_key=${pythonKey(key)}, http_options={"base_url": "${origin}"})
for chunk in client.models.generate_content_stream(model="${model}", contents="${HELLO}"):
    print(chunk.text or "", end="")`,
  },
} as const satisfies Readonly<Record<string, ClientRow>>;
