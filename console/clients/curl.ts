/** curl, in the dialect that the group of the key speaks, so that nothing is converted. Streamed. */
import { INFERENCE_ENDPOINTS } from '../../src/rules/endpoints.ts';
import type { Style } from '../../src/rules/groups.ts';
import { type ClientInput, type ClientRow, HELLO } from './client.ts';

export const CURL_CLIENT = {
  name: 'curl',
  language: 'sh',
  registry: 'npm',
  packages: [],
  isTested: true,
  lines: curlLines,
} as const satisfies ClientRow;

function curlLines({ origin, style, model, key }: ClientInput): string {
  const { path, headers, body } = CURL[style];
  const fields = Object.entries({ ...headers, 'content-type': 'application/json' }).map(([name, value]) =>
    value.includes('KEY') ? `-H "${name}: ${value.replace('KEY', () => key)}"` : `-H '${name}: ${value}'`,
  );
  return `curl -sSN '${origin}${path(model)}' ${fields.join(' ')} \\\n  -d '${JSON.stringify(body(model))}'`;
}

interface CurlCall {
  readonly path: (model: string) => string;
  /** `KEY` stands for the key. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: (model: string) => object;
}

const CURL: Readonly<Record<Style, CurlCall>> = {
  responses: {
    path: () => INFERENCE_ENDPOINTS['responses.create'].path,
    headers: { authorization: 'Bearer KEY' },
    body: (model) => ({ model, input: HELLO, stream: true }),
  },
  messages: {
    path: () => INFERENCE_ENDPOINTS['messages.create'].path,
    headers: { 'x-api-key': 'KEY' },
    body: (model) => ({ model, max_tokens: 200, stream: true, messages: [{ role: 'user', content: HELLO }] }),
  },
  'generate-content': {
    path: (model) => `${INFERENCE_ENDPOINTS['generate.stream'].path.replace('{model}', model)}?alt=sse`,
    headers: { 'x-goog-api-key': 'KEY' },
    body: () => ({ contents: [{ role: 'user', parts: [{ text: HELLO }] }] }),
  },
};
