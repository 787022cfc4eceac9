/** Endpoints for operators and load balancers: liveness, readiness, metrics and OpenAPI. */
import { readFile } from 'node:fs/promises';
import { isSameSecret } from '../../access/keys/index.ts';
import { type Clock, fail } from '../../core/index.ts';
import { version } from '../../platform/version.ts';
import type { Call, Handler, Metrics } from '../../platform/web/index.ts';
import { idHeaders, METRICS_TYPE, sendJson } from '../../platform/web/index.ts';
import type { OperatorOperation } from '../../rules/index.ts';
import { type StaticFile, sendStaticFile, staticFile } from './static-file.ts';

export interface HealthServices {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly metricsAccess: MetricsAccess;
  /** Resolves to undefined when ready, otherwise to the reason. */
  readonly notReady: () => Promise<string | undefined>;
  readonly publicUrl: () => string;
}

/** `elsewhere`: they are served on a port of their own. */
export type MetricsAccess = 'open' | 'elsewhere' | { readonly token: string };

/** Scrapes within this time get the same text, so that many readers cost no more than one. */
const METRICS_CACHE_MS = 1_000;

export function healthHandlers(services: HealthServices) {
  const { clock, metrics, metricsAccess, notReady, publicUrl } = services;
  return {
    'operator.alive': (call) => sendJson(call, 200, { status: 'alive', version }),
    'operator.ready': async (call) => {
      const reason = await notReady();
      sendJson(call, reason ? 503 : 200, reason ? { status: 'not ready', reason } : { status: 'ready' });
    },
    'operator.metrics': metricsHandler(metrics, clock, metricsAccess),
    'operator.openapi': openApiHandler(publicUrl),
  } satisfies Partial<Record<OperatorOperation, Handler>>;
}

/** Building it takes the event loop a quarter of a second, so that `npm run gen` does. */
const DOCUMENT = new URL('../../../openapi.json', import.meta.url);
const ADDRESS = '"url": "/"';

/** The document with the address of this server, read at the first request and then served from memory. */
function openApiHandler(serverUrl: () => string): Handler {
  const load = async (): Promise<StaticFile> => {
    const text = await readFile(DOCUMENT, 'utf8');
    const own = text.replace(ADDRESS, () => `"url": ${JSON.stringify(serverUrl())}`);
    return staticFile('application/json; charset=utf-8', Buffer.from(own));
  };
  let loading: Promise<StaticFile> | undefined;
  return async (call) => {
    loading ??= load();
    sendStaticFile(call, await loading, { 'cache-control': 'no-cache' });
  };
}

export function metricsHandler(metrics: Metrics, clock: Clock, access: MetricsAccess): Handler {
  let text = Promise.resolve('');
  let freshUntil = Number.NEGATIVE_INFINITY;
  return async (call) => {
    checkMetricsAccess(call, access);
    if (clock.elapsed() >= freshUntil) {
      freshUntil = clock.elapsed() + METRICS_CACHE_MS;
      text = metrics.text();
    }
    const body = await text;
    call.response.writeHead(200, { ...idHeaders(call), 'content-type': METRICS_TYPE });
    call.response.end(body);
  };
}

function checkMetricsAccess(call: Call, access: MetricsAccess): void {
  if (access === 'open') return;
  if (access === 'elsewhere') throw fail('not_found', 'The metrics are served on METRICS_PORT.');
  const [, given] = /^bearer +(\S+) *$/i.exec(call.header('authorization') ?? '') ?? [];
  if (given !== undefined && isSameSecret(given, access.token)) return;
  throw fail('invalid_api_key', 'Send METRICS_TOKEN as "Authorization: Bearer <token>".');
}
