/** Frameworks with a class for each provider: the lines use that of the group's style, so that nothing is converted. */
import {
  type ClientInput,
  type ClientRow,
  HELLO,
  python,
  pythonImports,
  pythonKey,
  scriptKey,
  typescript,
} from './client.ts';

export const FRAMEWORK_CLIENTS = {
  'langchain-ts': {
    name: 'LangChain TypeScript',
    ...typescript('@langchain/core', '@langchain/openai', '@langchain/anthropic', '@langchain/google-genai'),
    lines: langchainScript,
  },
  'langchain-python': {
    name: 'LangChain Python',
    ...python('langchain-openai', 'langchain-anthropic', 'langchain-google-genai'),
    lines: langchainPython,
  },
  'ai-sdk': {
    name: 'AI SDK',
    ...typescript('ai', '@ai-sdk/openai', '@ai-sdk/anthropic', '@ai-sdk/google'),
    isTested: true,
    lines: aiSdkLines,
  },
} as const satisfies Readonly<Record<string, ClientRow>>;

/** Package and class of each style, alike in both languages. */
const LANGCHAIN = {
  responses: ['openai', 'ChatOpenAI'],
  messages: ['anthropic', 'ChatAnthropic'],
  'generate-content': ['google-genai', 'ChatGoogleGenerativeAI'],
} as const;

function langchainScript({ origin, style, model, key }: ClientInput): string {
  const [from, name] = LANGCHAIN[style];
  const address = {
    responses: `configuration: { baseURL: '${origin}/v1' }`,
    messages: `anthropicApiUrl: '${origin}'`,
    'generate-content': `baseUrl: '${origin}'`,
  }[style];
  return `import { ${name} } from '@langchain/${from}';

const model = new ${name}({ model: '${model}', apiKey: ${scriptKey(key)}, ${address} });
for await (const chunk of await model.stream('${HELLO}')) process.stdout.write(chunk.text);`;
}

function langchainPython({ origin, style, model, key }: ClientInput): string {
  const [from, name] = LANGCHAIN[style];
  const url = style === 'responses' ? `${origin}/v1` : origin;
  return `${pythonImports(key)}from langchain_${from.replace('-', '_')} import ${name}

model = ${name}(model="${model}", base_url="${url}", api_key=${pythonKey(key)})
for chunk in model.stream("${HELLO}"):
    print(chunk.text, end="")`;
}

function aiSdkLines({ origin, style, model, key }: ClientInput): string {
  const { from, name, path } = {
    responses: { from: '@ai-sdk/openai', name: 'createOpenAI', path: '/v1' },
    messages: { from: '@ai-sdk/anthropic', name: 'createAnthropic', path: '/v1' },
    'generate-content': { from: '@ai-sdk/google', name: 'createGoogleGenerativeAI', path: '/v1beta' },
  }[style];
  return `import { ${name} } from '${from}';
import { streamText } from 'ai';

const dragoman = ${name}({ baseURL: '${origin}${path}', apiKey: ${scriptKey(key)} });
const { textStream } = streamText({ model: dragoman('${model}'), prompt: '${HELLO}' });
for await (const text of textStream) process.stdout.write(text);`;
}
