/** Settings of the video provider. Tests change them while it runs. */
import type { FamilyName } from './families.ts';

export const CALLBACK_MODES = ['shuffled', 'duplicated', 'delayed', 'dropped', 'wrong_id'] as const;
export type CallbackMode = (typeof CALLBACK_MODES)[number];

export const URL_MODES = ['stable', 'renewed', 'dead'] as const;
export type UrlMode = (typeof URL_MODES)[number];

export const IMAGE_FORMATS = ['png', 'jpeg'] as const;
export type ImageFormat = (typeof IMAGE_FORMATS)[number];

const HOUR_MS = 3_600_000;

export interface VideoSettings {
  /** Time in the queue and time of generation. The defaults let a demo finish in 12 seconds. */
  queuedMs: number;
  runningMs: number;
  /** Running tasks per account and model family; the rest wait. */
  concurrency: number;
  concurrency4k: number;
  /** Waiting tasks per account; one more is a 429 `QuotaExceeded`. */
  queueLimit: number;
  /** Enforces limits per second and account, such as 1 list and 20 gets of tasks, always in real time. */
  rateLimits: boolean;
  /** The field of the error in list items: the documentation and the provider's own SDK disagree. */
  listError: 'error' | 'failure_reason';
  /** Returns the time of expiry that was asked for, and otherwise its default. */
  returnsExpiry: boolean;
  /** `stable`: one URL per result. `renewed`: every read of the task signs a new one. `dead`: already expired. */
  urls: UrlMode;
  urlLifetimeMs: number;
  /** Downloads per URL, ranges included; one more is a 403. */
  downloadLimit: number;
  lastFrame: ImageFormat;
  callbacks: readonly CallbackMode[];
  /** Time limit of one attempt, in real time. */
  callbackTimeoutMs: number;
  callbackRetryMs: number;
  /** The delay of the mode `delayed`. */
  callbackDelayMs: number;
  /** Assumed length of every video in the input. */
  inputVideoSeconds: number;
  /** The region that requests to the asset library must be signed for. */
  region: string;
  /** The projects of every account. */
  projects: readonly string[];
  /** Ids of characters of the provider itself, which every account can use as images. */
  presetAssets: readonly string[];
  /** How long an asset is `Processing`. */
  processingMs: number;
  /** More than 0: so many gets report `Processing`, whatever the time. */
  processingGets: number;
  /** Assets that an account may create per minute of the provider's clock. */
  assetsPerMinute: number;
  assetUrlLifetimeMs: number;
  /** More than 0: assets and groups disappear after that time. */
  assetLifetimeMs: number;
  groupLifetimeMs: number;
  /** `ok`: errors of the asset library below 500 arrive with status 200. */
  libraryErrors: 'status' | 'ok';
  /** `bare`: the result of a validation arrives without its envelope. */
  validationResults: 'enveloped' | 'bare';
  validationLifetimeMs: number;
  /** The result of a validation is reported once; later reads do not find it. */
  singleResultRead: boolean;
}

/** An access key of the asset library. */
export interface AccessKey {
  secret: string;
  account: string;
}

export interface VideoOptions extends Partial<VideoSettings> {
  /** Decides ids, seeds and choices (default `sim`). */
  seed?: string;
  /** `manual`: time moves only by `clock.advance` (default `real`). */
  clock?: 'real' | 'manual';
  /** First time of a manual clock, in milliseconds since 1970 (default now). */
  startAt?: number;
  /** Account names by credential, beside `sk-simulated` and `sk-simulated-<name>`. */
  accounts?: Readonly<Record<string, string>>;
  /** Access keys of the asset library, beside `AK-simulated` and `AK-simulated-<name>`. */
  accessKeys?: Readonly<Record<string, AccessKey>>;
  /** Families by model name; other names are guessed from their words. */
  models?: Readonly<Record<string, FamilyName>>;
}

export const DEFAULT_SETTINGS: Readonly<VideoSettings> = {
  queuedMs: 3000,
  runningMs: 9000,
  concurrency: 10,
  concurrency4k: 1,
  queueLimit: 100,
  rateLimits: true,
  listError: 'error',
  returnsExpiry: true,
  urls: 'stable',
  urlLifetimeMs: 24 * HOUR_MS,
  downloadLimit: 100,
  lastFrame: 'png',
  callbacks: [],
  callbackTimeoutMs: 5000,
  callbackRetryMs: 1000,
  callbackDelayMs: 5000,
  inputVideoSeconds: 5,
  region: 'cn-beijing',
  projects: ['default'],
  presetAssets: ['asset-20260101000000-prst1', 'asset-20260101000000-prst2'],
  processingMs: 3000,
  processingGets: 0,
  assetsPerMinute: 300,
  assetUrlLifetimeMs: 12 * HOUR_MS,
  assetLifetimeMs: 0,
  groupLifetimeMs: 0,
  libraryErrors: 'status',
  validationResults: 'enveloped',
  validationLifetimeMs: HOUR_MS / 2,
  singleResultRead: false,
};

/** The settings among the options; other options cannot change while the provider runs. */
export function settingsOf(options: VideoOptions): VideoSettings {
  const { seed: _seed, clock: _clock, startAt: _startAt, ...named } = options;
  const { accounts: _accounts, accessKeys: _accessKeys, models: _models, ...settings } = named;
  return { ...DEFAULT_SETTINGS, ...settings };
}
