/**
 * The demo configuration: a group of each style and video variant on simulated providers, priced models, one user, its
 * keys.
 */
import { sql } from 'kysely';
import type { Db } from '../../platform/db/index.ts';
import type { VideoVariant } from '../../rules/index.ts';
import { SetupFile } from '../../schemas/index.ts';

export const DEMO_USER = 'demo';
export const DEMO_GROUPS = { responses: 'responses', messages: 'messages', generate: 'generate' } as const;

/** Prefix of the demo accounts. An account with it means that the demo is installed. */
const ACCOUNT_PREFIX = 'demo-';

const VIDEO_MODELS: Readonly<Record<VideoVariant, readonly string[]>> = {
  A: ['demo-video-a'],
  EP: [
    'demo-video-2-0-260128',
    'demo-video-2-0-ep',
    'demo-video-2-0-fast-260128',
    'demo-video-2-0-fast-ep',
    'demo-video-2-0-mini-260615',
    'demo-video-2-0-mini-ep',
  ],
  HC: ['demo-video-2-0-fast-hc', 'demo-video-2-0-hc', 'demo-video-2-0-mini-hc'],
};
export const DEMO_VIDEO_MODEL = 'demo-video-a';
export const DEMO_CHARACTER_MODEL = 'demo-video-2-0-ep';

export interface SimulatedProviders {
  readonly url: string;
  /** Base URL of the video provider, with `/api/v3`. */
  readonly videoUrl: string;
}

export function demoSetup({ url: providersUrl, videoUrl }: SimulatedProviders): SetupFile {
  const { responses, messages, generate } = DEMO_GROUPS;
  return SetupFile.parse({
    groups: [
      { id: responses, style: 'responses', name: 'Responses (simulated)' },
      { id: messages, style: 'messages', name: 'Messages (simulated)' },
      { id: generate, style: 'generate-content', name: 'Native (simulated)' },
      ...VARIANTS.map((variant) => ({
        id: videoGroup(variant),
        style: 'video',
        variant,
        name: `Video ${variant} (simulated)`,
      })),
    ],
    accounts: [
      { id: `${ACCOUNT_PREFIX}responses`, group: responses, base_url: `${providersUrl}/v1`, api_key: 'sk-simulated' },
      { id: `${ACCOUNT_PREFIX}messages`, group: messages, base_url: providersUrl, api_key: 'sk-simulated' },
      { id: `${ACCOUNT_PREFIX}generate`, group: generate, base_url: providersUrl, api_key: 'sk-simulated' },
      // Each group has an account of its own at the provider, with its own queue.
      ...VARIANTS.map(videoGroup).map((group) => ({
        id: ACCOUNT_PREFIX + group,
        group,
        base_url: videoUrl,
        api_key: `sk-simulated-${group}`,
        assets: {
          base_url: new URL(videoUrl).origin,
          access_key: `AK-simulated-${group}`,
          secret_key: 'SK-simulated',
          region: 'cn-beijing',
          project: 'default',
        },
      })),
    ],
    models: [
      ...Object.keys(TEXT_MODELS).flatMap((id) => textModels(id)),
      { id: 'demo-image', groups: [responses], prices: { input: '5', image_input: '10', image_output: '40' } },
      { id: 'demo-embedding', groups: [responses], prices: { input: '0.02', output: '0' } },
      ...VARIANTS.flatMap((variant) => VIDEO_MODELS[variant].map((id) => videoModel(id, variant))),
    ],
    characters: CHARACTERS,
    users: [{ id: DEMO_USER, email: 'demo@example.test', balance: '100', max_keys: 10 }],
    keys: [responses, messages, generate].map((group) => ({ user: DEMO_USER, group, name: 'demo' })),
  });
}

const TEXT_MODELS = {
  'demo-responses': {
    group: DEMO_GROUPS.responses,
    prices: { input: '1.25', cached_input: '0.125', output: '10' },
    cost: { input: '1', cached_input: '0.1', output: '8' },
  },
  'demo-messages': {
    group: DEMO_GROUPS.messages,
    prices: { input: '3', cached_input: '0.3', cache_write: '3.75', output: '15' },
    cost: { input: '2.4', cached_input: '0.24', cache_write: '3', output: '12' },
  },
  'demo-generate': {
    group: DEMO_GROUPS.generate,
    prices: { input: '0.3', cached_input: '0.03', output: '2.5' },
    cost: undefined,
  },
} as const;

/**
 * One text model in every group: elsewhere it is another name for the model of that group, so every key serves every
 * name.
 */
const textModels = (id: string) =>
  Object.entries(TEXT_MODELS).map(([own, { group, prices, cost }]) => ({
    id,
    groups: [group],
    prices,
    ...(cost && { cost }),
    ...(own !== id && { upstream: own }),
  }));

const CHARACTERS = [
  {
    id: 'demo-presenter',
    name: 'Studio presenter',
    upstream_asset: 'asset-20260101000000-prst1',
    tags: ['studio', 'news'],
    gender: 'female',
    age_group: 'adult',
  },
  {
    id: 'demo-hiker',
    name: 'Mountain hiker',
    upstream_asset: 'asset-20260101000000-prst2',
    tags: ['outdoor'],
    gender: 'male',
    age_group: 'adult',
  },
].map((character) => ({ ...character, group: 'video-ep', models: VIDEO_MODELS.EP }));

const VARIANTS = Object.keys(VIDEO_MODELS) as VideoVariant[];
const videoGroup = (variant: VideoVariant): string => `video-${variant.toLowerCase()}`;

/** The provider makes five seconds at 720p when a request names neither. */
const VIDEO_DEFAULTS = { default_duration: 5 } as const;

/** Small models are cheaper and stop at 720p; the large ones charge more for larger pictures. */
function videoModel(id: string, variant: VideoVariant) {
  const groups = [videoGroup(variant)];
  if (/-(?:fast|mini)-/.test(id)) {
    const capabilities = { ...VIDEO_DEFAULTS, resolutions: ['480p', '720p'] };
    const [video, video_with_video_input] = id.includes('-mini-') ? ['3', '1.8'] : ['5.6', '3.3'];
    return { id, groups, capabilities, prices: { video, video_with_video_input } };
  }
  const larger = variant === 'A' ? { '1080p': '7.7' } : { '1080p': '7.7', '4k': '8.4' };
  return {
    id,
    groups,
    capabilities: VIDEO_DEFAULTS,
    prices: { video: { '480p': '7', '720p': '7', ...larger }, video_with_video_input: '4.3' },
    cost: { video: '5.6', video_with_video_input: '3.4' },
  };
}

export async function hasDemo(db: Db): Promise<boolean> {
  const { rows } = await sql`select from accounts where id like ${`${ACCOUNT_PREFIX}%`} limit 1`.execute(db);
  return rows.length > 0;
}
