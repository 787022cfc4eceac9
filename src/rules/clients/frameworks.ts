/** Frameworks with a class for each provider: the lines use that of the group's style, so that nothing is converted. */
import { type ClientInput, type ClientRow, HELLO, pythonImports, pythonKey, scriptKey } from './client.ts';

export const FRAMEWORK_CLIENTS = {
  'langchain-ts': {
    name: 'LangChain TypeScript',
    language: 'ts',
    registry: 'npm',
    packages: ['@langchain/core', '@langchain/openai', '@langchain/anthropic', '@langchain/google-genai'],
    lines: langchainScript,
  },
  'langchain-python': {
    name: 'LangChain Python',
    language: 'python',
    registry: 'PyPI',
    packages: ['langchain-openai', 'langchain-anthropic', 'langchain-google-genai'],
    lines: langchainPython,
  },
  'ai-sdk': {
    name: 'AI SDK',
    language: 'ts',
    registry: 'npm',
    packages: ['ai', '@ai-sdk/openai', '@ai-sdk/anthropic', '@ai-sdk/google'],
    isTested: true,
    lines: aiSdkLines,
  },
} as const satisfies Readonly<Record<string, ClientRow>>;

function langchainScript({ origin, style, model, key }: ClientInput): string {
  const { from, name, settings } = {
    responses: {
      from: '@langchain/openai',
      name: 'ChatOpenAI',
      settings: `apiKey: ${scriptKey(key)}, configuration: { baseURL: '${origin}/v1' }`,
    },
    messages: {
      from: '@langchain/anthropic',
      name: 'ChatAnthropic',
      settings: `apiKey: ${scriptKey(key)}, anthropicApiUrl: '${origin}'`,
    },
    'generate-content': {
      from: '@langchain/google-genai',
      name: 'ChatGoogleGenerativeAI',
      settings: `apiKey: ${scriptKey(key)}, baseUrl: '${origin}'`,
    },
  }[style];
  return `import { ${name} } from '${from}';

const model = new ${name}({ model: '${model}', ${settings} });
for await (const chunk of await model.stream('${HELLO}')) process.stdout.write(chunk.text);`;
}

function langchainPython({ origin, style, model, key }: ClientInput): string {
  const { from, name, settings } = {
    responses: {
      from: 'langchain_openai',
      name: 'ChatOpenAI',
      settings: `base_url="${origin}/v1", api_key=${pythonKey(key)}`,
    },
    messages: {
      from: 'langchain_anthropic',
      name: 'ChatAnthropic',
      settings: `base_url="${origin}", api_key=${pythonKey(key)}`,
    },
    'generate-content': {
      from: 'langchain_google_genai',
      name: 'ChatGoogleGenerativeAI',
      settings: `base_url="${origin}", api_key=${pythonKey(key)}`,
    },
  }[style];
  return `${pythonImports(key)}from ${from} import ${name}

model = ${name}(model="${model}", ${settings})
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
