/** Requests of batches on their way to the handlers of their operations. */
import { findKeyOfUser } from '../../access/keys/index.ts';
import { fail } from '../../core/index.ts';
import type { LineHost } from '../../gateway/index.ts';
import type { Db } from '../../platform/db/index.ts';
import type { InferenceOperation } from '../../rules/index.ts';
import { handleInference } from './inference.ts';
import type { WebSocketServices } from './websocket.ts';

interface HostServices extends Omit<WebSocketServices, 'webSockets'> {
  readonly db: Db;
}

/** Each is a call of the key as it is now. */
export const lineHost =
  (services: HostServices): LineHost =>
  (line, { userId, keyId }) =>
    services.runCall(line, async (call) => {
      const key = await findKeyOfUser(services.db, userId, keyId, services.clock.now());
      if (!key) throw fail('invalid_api_key', 'The API key that made the batch was revoked, or has expired.');
      return handleInference(services, call, services.auth.callerOf(call, key), call.operation as InferenceOperation);
    });
