/** Commands for clients of a key. What works follows from the matrix of endpoints, the same one that the gateway routes by. */
import { INFERENCE_ENDPOINTS } from '../../../src/rules/endpoints.ts';
import type { Style } from '../api/types.ts';

export interface SnippetInput {
  /** The address of the gateway without a path. */
  readonly origin: string;
  readonly style: Exclude<Style, 'video'>;
  readonly model: string;
  /** The value of the key, or the variable that holds it. */
  readonly key: string;
}

type Operation = keyof typeof INFERENCE_ENDPOINTS;

interface Client {
  readonly name: string;
  /** What the client calls. */
  readonly operation: Operation;
  readonly text: (input: SnippetInput) => string;
}

export interface ClientSnippet {
  readonly name: string;
  /** Undefined when a key of this style cannot serve the client. */
  readonly text: string | undefined;
  /** Styles whose keys can. */
  readonly styles: readonly Style[];
}

/** Each client appends its own paths to the base URL: OpenAI's expect `/v1` in it, the others do not. */
const CLIENTS: readonly Client[] = [
  { name: 'curl', operation: 'responses.create', text: curl },
  {
    name: 'OpenAI',
    operation: 'responses.create',
    text: ({ origin, model, key }) => `from openai import OpenAI

client = OpenAI(base_url="${origin}/v1", api_key=${pythonKey(key)})
response = client.responses.create(model="${model}", input="Hello")
print(response.output_text)`,
  },
  {
    name: 'Anthropic',
    operation: 'messages.create',
    text: ({ origin, model, key }) => `from anthropic import Anthropic

client = Anthropic(base_url="${origin}", api_key=${pythonKey(key)})
message = client.messages.create(
    model="${model}", max_tokens=200,
    messages=[{"role": "user", "content": "Hello"}])
print(message.content[0].text)`,
  },
  {
    name: 'Google',
    operation: 'generate.create',
    text: ({ origin, model, key }) => `from google import genai
from google.genai import types

client = genai.Client(api_key=${pythonKey(key)}, http_options=types.HttpOptions(base_url="${origin}"))
print(client.models.generate_content(model="${model}", contents="Hello").text)`,
  },
  {
    name: 'Claude Code',
    operation: 'messages.create',
    text: ({ origin, model, key }) => `export ANTHROPIC_BASE_URL=${origin}
export ANTHROPIC_AUTH_TOKEN=${shellKey(key)}
export ANTHROPIC_MODEL=${model}
claude`,
  },
  {
    name: 'Codex',
    operation: 'responses.create',
    text: ({ origin, model, key }) => `export DRAGOMAN_KEY=${isVariable(key) ? '...' : key}
codex -m ${model} \\
  -c model_provider=dragoman \\
  -c 'model_providers.dragoman={name="Dragoman",base_url="${origin}/v1",env_key="DRAGOMAN_KEY",wire_api="responses"}'`,
  },
  {
    name: 'Gemini CLI',
    operation: 'generate.stream',
    text: ({ origin, model, key }) => `export GOOGLE_GEMINI_BASE_URL=${origin}
export GEMINI_API_KEY=${shellKey(key)}
gemini -m ${model}`,
  },
];

const STYLES = ['responses', 'messages', 'generate-content'] as const;

export const snippetsFor = (input: SnippetInput): ClientSnippet[] =>
  CLIENTS.map(({ name, operation, text }) => {
    const styles = STYLES.filter((style) => INFERENCE_ENDPOINTS[operation].groups[style].kind !== 'refuse');
    return { name, styles, text: styles.includes(input.style) ? text(input) : undefined };
  });

/** The dialect that the group of the key speaks, so that nothing is converted. */
function curl({ origin, style, model, key }: SnippetInput): string {
  const value = shellKey(key);
  const body = JSON.stringify(BODIES[style](model));
  const path = INFERENCE_ENDPOINTS[NATIVE[style]].path.replace('{model}', model);
  const headers = style === 'messages' ? `-H "x-api-key: ${value}"` : `-H "authorization: Bearer ${value}"`;
  return `curl ${origin}${path} ${headers} \\
  -H 'content-type: application/json' \\
  -d '${body}'`;
}

const NATIVE = {
  responses: 'responses.create',
  messages: 'messages.create',
  'generate-content': 'generate.create',
} as const satisfies Record<SnippetInput['style'], Operation>;

const BODIES: Readonly<Record<SnippetInput['style'], (model: string) => object>> = {
  responses: (model) => ({ model, input: 'Hello' }),
  messages: (model) => ({ model, max_tokens: 200, messages: [{ role: 'user', content: 'Hello' }] }),
  'generate-content': () => ({ contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] }),
};

const isVariable = (key: string): boolean => key.startsWith('$');
const shellKey = (key: string): string => key;
const pythonKey = (key: string): string => (isVariable(key) ? `os.environ["${key.slice(1)}"]` : `"${key}"`);
