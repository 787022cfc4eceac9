/** Endpoints for operators and load balancers: liveness, readiness, metrics and OpenAPI. */
import type { OperatorOperation } from '../rules/index.ts';
import type { Handler, Metrics } from '../web/index.ts';
import { idHeaders, METRICS_TYPE, sendJson } from '../web/index.ts';

export interface HealthServices {
  readonly metrics: Metrics;
  /** Resolves to undefined when ready, otherwise to the reason. */
  readonly notReady: () => Promise<string | undefined>;
  /** Builds the OpenAPI document. It takes tens of milliseconds, so it is built on the first request. */
  readonly openApi: () => object;
}

export function healthHandlers({
  metrics,
  notReady,
  openApi,
}: HealthServices): Record<
  Exclude<OperatorOperation, 'provider.report' | 'characters.preview' | 'sessions.return'>,
  Handler
> {
  let document: object | undefined;
  return {
    'operator.alive': (call) => sendJson(call, 200, { status: 'alive' }),
    'operator.ready': async (call) => {
      const reason = await notReady();
      sendJson(call, reason ? 503 : 200, reason ? { status: 'not ready', reason } : { status: 'ready' });
    },
    'operator.metrics': async (call) => {
      const text = await metrics.text();
      call.response.writeHead(200, { ...idHeaders(call), 'content-type': METRICS_TYPE });
      call.response.end(text);
    },
    'operator.openapi': (call) => {
      document ??= openApi();
      sendJson(call, 200, document);
    },
  };
}
