/** What modules take from the settings, in their own form. */
import { totalmem } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../platform/config.ts';
import type { ProxySettings } from '../../platform/outbound/index.ts';
import type { ClientStreamLimits } from '../../platform/web/index.ts';
import type { Machine } from '../../providers/upstream/index.ts';
import { BODY_BYTES, BODY_MEMORY, type BodyClass, KEPT_PROMPTS } from '../../rules/index.ts';
import type { MirrorSettings } from '../../video/index.ts';

/** The built console: CONSOLE_DIR, or that of the installation. */
export const consoleFolder = ({ CONSOLE_DIR }: Config): string =>
  CONSOLE_DIR ?? join(import.meta.dirname, '..', '..', '..', 'dist', 'console');

export const mirrorOf = (config: Config): MirrorSettings | undefined =>
  config.RESULT_MIRROR_DIR === undefined
    ? undefined
    : {
        folder: config.RESULT_MIRROR_DIR,
        days: config.RESULT_MIRROR_DAYS,
        maxBytes: config.RESULT_MIRROR_MAX_BYTES,
        atSuccess: config.RESULT_MIRROR_AT === 'success',
      };

export const streamLimitsOf = (config: Config): ClientStreamLimits => ({
  heartbeatMs: config.HEARTBEAT_MS,
  stalledMs: config.STALLED_CLIENT_MS,
});

export const proxiesOf = ({ HTTP_PROXY, HTTPS_PROXY, NO_PROXY }: Config): ProxySettings => ({
  http: HTTP_PROXY,
  https: HTTPS_PROXY,
  exceptions: NO_PROXY,
});

/** What the machine offers for signing in to clouds. */
export const machineOf = (config: Config): Machine => ({
  tokenFiles: {
    azure: config.AZURE_FEDERATED_TOKEN_FILE,
    google: config.GOOGLE_FEDERATED_TOKEN_FILE,
    aws: config.AWS_WEB_IDENTITY_TOKEN_FILE,
  },
  identityEndpoint: config.IDENTITY_ENDPOINT,
  identityHeader: config.IDENTITY_HEADER,
  containerPath: config.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI,
  containerUrl: config.AWS_CONTAINER_CREDENTIALS_FULL_URI,
  containerToken: config.AWS_CONTAINER_AUTHORIZATION_TOKEN,
  containerTokenFile: config.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE,
});

export const bodyLimit = (config: Config, limit: BodyClass): number =>
  ({
    text: config.BODY_LIMIT_TEXT,
    image: config.BODY_LIMIT_IMAGE,
    video: undefined,
    items: undefined,
    small: undefined,
  })[limit] ?? BODY_BYTES[limit];

/** Prompts that one of the processes keeps. `bodyBytes`: its memory for bodies. */
export const keptPromptBytes = ({ KEPT_PROMPT_BYTES: set }: Config, bodyBytes: number, workers: number): number =>
  Math.floor(set === undefined ? bodyBytes * KEPT_PROMPTS.ofBodies : set / workers);

type BodySettings = Pick<Config, 'BODY_MEMORY_BYTES'>;

/**
 * Memory for large bodies of all processes of the server together. `containerBytes`: what the system lets them use; 0
 * or huge without a limit.
 */
export function bodyMemory(config: BodySettings, containerBytes = process.constrainedMemory()): number {
  const isLimited = containerBytes > 0 && containerBytes < totalmem();
  const { ofContainer, unlimited, min } = BODY_MEMORY;
  return config.BODY_MEMORY_BYTES ?? (isLimited ? Math.max(min, Math.floor(containerBytes * ofContainer)) : unlimited);
}

export const splitList = (text: string): string[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
