/** An example of every operation of callers, from the examples of openapi.json. A test runs them. */
import { type ApiRequest, type CodeLanguage, codeOf } from '../src/parts/request-code.ts';
import { type Document, type Endpoint, sampleOf } from './document.ts';
import { escapeText, inline, slug } from './html.ts';

/** The address in all pages; the script of the page puts its own in place of it. */
export const ORIGIN = 'http://127.0.0.1:8080';

/** Of objects that the reader has. */
export const SAMPLE_IDS = {
  response_id: 'resp_68f2a1c7',
  request_id: 'req_01a1eee304e5c310d8ba5f34',
  task_id: 'task_7Hq2bVxN4sKd9wRtYc3mZp',
  event_id: 'evt_2GB6mUDKvocDZIBeMJQvGN',
  group_id: 'assetgrp_1',
  asset_id: 'asset_9LwQe4rTzUiOpAsDfGhJkM',
  session_id: 'ras_3XcVbNmAsDfGhJkLqWeRtY',
  character_id: 'demo-presenter',
} as const;

/** Nobody calls these by hand: browsers follow addresses that the gateway gives them. */
const WITHOUT: readonly string[] = ['results.link', 'sessions.return', 'characters.preview'];

const OPERATOR_TAGS: readonly string[] = ['Admin', 'Health', 'Console'];

export const hasExample = ({ operationId, tags, summary, parameters = [] }: Endpoint): boolean =>
  !OPERATOR_TAGS.includes(tags[0] ?? '') &&
  !WITHOUT.includes(operationId) &&
  !/WebSocket/.test(summary + JSON.stringify(parameters));

const JSON_TYPE = 'application/json';

export function exampleOf(document: Document, endpoint: Endpoint): ApiRequest {
  const { method, operationId, requestBody, security } = endpoint;
  const form = requestBody?.content['multipart/form-data']?.example;
  const content = requestBody?.content[JSON_TYPE];
  const body = content && ((content.example ?? sampleOf(document, content.schema ?? {})) as Record<string, unknown>);
  return {
    origin: ORIGIN,
    method,
    path: pathOf(endpoint),
    operation: operationId,
    ...(form
      ? {
          form: Object.entries(form).map(([name, value]) =>
            name === 'image' ? { name, file: String(value) } : { name, value: String(value) },
          ),
        }
      : body && Object.keys(body).length > 0 && { body }),
    ...(security?.length === 0 && { isOpen: true }),
    ...(OUTPUTS[operationId] && { output: OUTPUTS[operationId] }),
  };
}

const OUTPUTS: Readonly<Record<string, string>> = {
  'videos.content': 'video.mp4',
  'videos.lastFrame': 'last-frame.png',
};

/** The dialect has the model in its path. */
const PATH_MODELS: Readonly<Record<string, string>> = {
  'generate.embed': 'demo-embedding',
  'generate.batchEmbed': 'demo-embedding',
  'models.get': 'demo-responses',
};

/** Without these, the response is a list instead of a stream, or 400. */
const QUERIES: Readonly<Record<string, string>> = {
  'generate.stream': 'alt=sse',
  'characters.list': 'model=demo-video-2-0-ep',
};

function pathOf({ path, operationId }: Endpoint): string {
  const model = PATH_MODELS[operationId.replace(/\.(?:v1|root)$/, '')] ?? 'demo-generate';
  const ids: Readonly<Record<string, string>> = { ...SAMPLE_IDS, model };
  const filled = path.replaceAll(/\{(\w+)\}/g, (all, name: string) => ids[name] ?? all);
  const query = QUERIES[operationId.replace(/\.(?:v1|root)$/, '')];
  return query ? `${filled}?${query}` : filled;
}

export function examplesHtml(document: Document, tag: string, endpoints: readonly Endpoint[]): string {
  const about = `Set <code>DRAGOMAN_KEY</code> to your API key, and the names of models to those of <code>GET /v1/models</code>. Programs with an SDK need the package <code>openai</code> or <code>anthropic</code> (<code>@anthropic-ai/sdk</code>).`;
  return `<h1>${escapeText(tag)}: examples</h1><p>${about}</p>${endpoints
    .map((endpoint) => exampleHtml(document, endpoint))
    .join('')}`;
}

function exampleHtml(document: Document, endpoint: Endpoint): string {
  const { operationId, method, path, summary, tags } = endpoint;
  const id = slug(operationId);
  const codes = Object.entries(codeOf(exampleOf(document, endpoint))) as [CodeLanguage, string][];
  return `<article id="${id}"><h2><a href="/docs/${slug(tags[0] ?? '')}.html#${id}">${inline(summary)}</a></h2>
<p class="path"><b data-method="${method}">${method}</b> <code>${escapeText(path)}</code></p>${codes
    .map(
      ([language, code]) =>
        `<details name="${id}"${language === 'curl' ? ' open' : ''}><summary>${language}</summary><pre data-language="${language}">${escapeText(code)}</pre></details>`,
    )
    .join('')}</article>`;
}
