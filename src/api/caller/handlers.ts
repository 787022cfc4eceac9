/** Operation -> handler. Every call is authenticated first; nothing else of it is read before. */
import { fail, type MaybePromise, whenReady } from '../../core/index.ts';
import type { Caller } from '../../gateway/index.ts';
import type { Call, Handler } from '../../platform/web/index.ts';
import * as rules from '../../rules/index.ts';
import { sendPreview, sendReturnPage } from './assets.ts';
import { receiveProviderReport } from './callbacks.ts';
import { uploadPiece } from './file-upload.ts';
import { type HealthServices, healthHandlers } from './health.ts';
import { handleInference } from './inference.ts';
import { sendLinkedFile, sendLinkedResult } from './result-links.ts';
import { handleVideo, type VideoApiServices } from './video.ts';
import { openWebSocket, type WebSocketServices } from './websocket.ts';

export type ApiServices = HealthServices & WebSocketServices & VideoApiServices;

type CallerHandler = (call: Call, caller: Caller) => MaybePromise<void>;

export function createHandlers(services: ApiServices): Record<rules.Operation | rules.OperatorOperation, Handler> {
  const handlers = Object.fromEntries(
    rules.OPERATIONS.map((operation) => [operation, authenticated(services, handlerOf(services, operation))]),
  ) as Record<rules.Operation, Handler>;
  return {
    ...handlers,
    ...healthHandlers(services),
    'characters.preview': (call) => sendPreview(services, call),
    'results.link': (call) => sendLinkedResult(services, call),
    'files.link': (call) => sendLinkedFile(services, call),
    'files.piece': (call) => uploadPiece(services, call),
    'sessions.return': (call) => sendReturnPage(services, call),
    'provider.report': (call) => receiveProviderReport(services.video, call),
  };
}

function handlerOf(services: ApiServices, operation: rules.Operation): CallerHandler {
  if (rules.isWebSocket(operation)) return (call, caller) => openWebSocket(services, call, caller);
  if (rules.isInference(operation)) return (call, caller) => handleInference(services, call, caller, operation);
  if (rules.isOfferedVideo(operation)) return (call, caller) => handleVideo(services, call, caller, operation);
  const { method, path } = rules.ENDPOINTS[operation];
  return () => {
    throw fail('not_implemented', `${method} ${path} is not offered by this version.`);
  };
}

const authenticated =
  ({ auth }: ApiServices, handle: CallerHandler): Handler =>
  (call) =>
    whenReady(auth.identify(call), (caller) => handle(call, caller));
