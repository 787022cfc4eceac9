/** Endpoints of operators: alive, ready, metrics, and the API's own description. */

import type { OperatorOperation } from '../rules/index.ts';
import type { Handler, Metrics } from '../web/index.ts';
import { idHeaders, METRICS_TYPE, sendJson } from '../web/index.ts';
import { openApi } from './openapi.ts';

export interface HealthServices {
  readonly metrics: Metrics;
  /** Undefined when ready; otherwise what is missing, in a few words. */
  readonly notReady: () => Promise<string | undefined>;
  readonly version: string;
}

export function healthHandlers({ metrics, notReady, version }: HealthServices): Record<OperatorOperation, Handler> {
  const description = openApi(version);
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
    'operator.openapi': (call) => sendJson(call, 200, description),
  };
}
