/** A gateway with one video service group of each variant on the simulated provider. */
import { type Sim, startSim, type VideoOptions } from '../../sim/index.ts';
import { startGateway, type TestGateway } from './gateway.ts';

export const VIDEO_MODELS = { A: 'demo-video-a', EP: 'demo-video-2-0-ep', HC: 'demo-video-2-0-hc' } as const;
export type TestVariant = keyof typeof VIDEO_MODELS;
export const TEST_VARIANTS = Object.keys(VIDEO_MODELS) as TestVariant[];

export const GROUPS = { A: 'video-a', EP: 'ep', HC: 'hc' } as const;
/** Per million tokens: 7 dollars, 4.3 with video input. */
export const VIDEO_PRICES = { video: '7', video_with_video_input: '4.3' } as const;

/** Text groups for the keys, video groups for the tasks; users ana and bob, two keys of ana. */
export function videoSetup(providerUrl: string, more: { readonly models?: readonly object[] } = {}): object {
  return {
    groups: [
      { id: 'openai', style: 'responses' },
      ...Object.entries(GROUPS).map(([variant, id]) => ({ id, style: 'video', variant, name: `Video ${variant}` })),
    ],
    accounts: [
      { id: 'oa1', group: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key: 'sk-upstream' },
      ...Object.values(GROUPS).map((group) => ({
        id: `account-${group}`,
        group,
        base_url: providerUrl,
        api_key: `sk-simulated-${group}`,
        assets: assetSettings(providerUrl, group),
      })),
    ],
    models: [
      ...Object.entries(VIDEO_MODELS).map(([variant, id]) => ({
        id,
        groups: [GROUPS[variant as TestVariant]],
        prices: VIDEO_PRICES,
      })),
      { id: 'demo-video-2-0-fast-ep', groups: ['ep'], prices: VIDEO_PRICES },
      { id: 'demo-video-unpriced', groups: ['ep'] },
      ...(more.models ?? []),
    ],
    users: [
      { id: 'ana', email: 'ana@example.test', balance: '1000' },
      { id: 'bob', email: 'bob@example.test', balance: '1000' },
      { id: 'poor', email: 'poor@example.test', balance: '0.01' },
    ],
    keys: [
      { user: 'ana', group: 'openai', name: 'one', key: KEYS.ana },
      { user: 'ana', group: 'openai', name: 'two', key: KEYS.ana2 },
      { user: 'bob', group: 'openai', name: 'one', key: KEYS.bob },
      { user: 'poor', group: 'openai', name: 'one', key: KEYS.poor },
      { user: 'ana', group: 'openai', name: 'only-ep', key: KEYS.onlyEp, video_groups: ['ep'] },
    ],
  };
}

/** The asset library of the simulated provider; accounts of both planes have the same names. */
export const assetSettings = (providerUrl: string, account: string): object => ({
  base_url: new URL(providerUrl).origin,
  access_key: `AK-simulated-${account}`,
  secret_key: 'SK-simulated',
  region: 'cn-beijing',
  project: 'default',
});

export const KEYS = {
  ana: 'key-of-ana-number-one-000000',
  ana2: 'key-of-ana-number-two-000000',
  bob: 'key-of-bob-number-one-000000',
  poor: 'key-of-poor-number-one-00000',
  onlyEp: 'key-of-ana-for-ep-only-00000',
} as const;

export interface VideoFixture {
  readonly sim: Sim;
  readonly gateway: TestGateway;
  close(): Promise<void>;
}

export async function startVideo(
  options: { video?: VideoOptions; worker?: boolean; env?: Record<string, string>; models?: readonly object[] } = {},
): Promise<VideoFixture> {
  const sim = await startSim({ video: { rateLimits: false, ...options.video } });
  const gateway = await startGateway({
    worker: options.worker === true,
    ...(options.env && { env: options.env }),
    setup: videoSetup(sim.video.url, { ...(options.models && { models: options.models }) }),
  });
  return {
    sim,
    gateway,
    async close() {
      await gateway.stop().finally(() => sim.close().catch(() => {}));
    },
  };
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown> & { readonly error?: { readonly code?: string; readonly message?: string } };
}

export interface ApiRequest {
  readonly key?: string | undefined;
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export const TASKS = '/api/v3/contents/generations/tasks';

/** Sends a JSON request as ana and parses the response. A string body is sent as it is. */
export async function callVideo(url: string, path: string, request: ApiRequest = {}): Promise<ApiResponse> {
  const { key = KEYS.ana, body, headers } = request;
  const response = await fetch(url + path, {
    method: request.method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? {} : JSON.parse(text) };
}

export const textItem = (text = 'A lighthouse at dusk'): object => ({ type: 'text', text });

/** A valid create body for the variant. */
export const taskBody = (variant: TestVariant, more: object = {}): Record<string, unknown> => ({
  model: VIDEO_MODELS[variant],
  content: [textItem()],
  duration: 5,
  resolution: '480p',
  ratio: '16:9',
  ...more,
});
