/**
 * Who is calling? The one extractor of credentials for every route (G 5). A request may carry several: agent tools send
 * leftovers of other services along. What is no key of ours is ignored when another one is; two different keys of ours are refused.
 */
import type { Catalog } from '../catalog/index.ts';
import { ApiError, type Clock, fail, isAddressIn } from '../core/index.ts';
import type { Caller } from '../gateway/index.ts';
import { FailedAttempts, type Key, type KeyCache } from '../identity/index.ts';
import type { Call } from '../web/index.ts';

export interface AuthServices {
  readonly keys: KeyCache;
  readonly catalog: () => Catalog;
  readonly clock: Clock;
  readonly failuresPerMinute: number;
}

export class Auth {
  readonly #parts: AuthServices;
  readonly #failures: FailedAttempts;

  constructor(parts: AuthServices) {
    this.#parts = parts;
    this.#failures = new FailedAttempts(parts.clock, parts.failuresPerMinute, 'API key');
  }

  /** At once when the key is remembered, as it mostly is. */
  identify(call: Call): Caller | Promise<Caller> {
    this.#failures.check(call.address);
    const refuse = (error: unknown): never => {
      // A database that does not answer is no guess of the caller's.
      if (error instanceof ApiError) this.#failures.count(call.address);
      throw error;
    };
    let key: Key | Promise<Key>;
    try {
      key = this.#keyOf(call);
    } catch (error) {
      return refuse(error);
    }
    return key instanceof Promise
      ? key.catch(refuse).then((found) => this.#callerOf(call, found))
      : this.#callerOf(call, key);
  }

  #callerOf(call: Call, key: Key): Caller {
    if (key.allowedAddresses && !isAddressIn(call.address, key.allowedAddresses)) {
      throw fail('key_not_allowed', 'This API key may not be used from your network address.');
    }
    const group = this.#parts.catalog().group(key.groupId);
    // A group that has just been removed takes its keys with it; this replica may hear of the two in either order.
    if (!group || group.style === 'video')
      throw fail('invalid_api_key', "The API key's provider group no longer exists.");
    call.addLogFields({ user: key.userId, key: key.id, group: group.id });
    return { key, group: group as Caller['group'] };
  }

  /** For connections that outlive the call that opened them. A database that does not answer closes nobody's. */
  async isStillValid(call: Call, caller: Caller): Promise<boolean> {
    try {
      return (
        (await this.#keyOf(call)).id === caller.key.id && this.#parts.catalog().group(caller.group.id) !== undefined
      );
    } catch (error) {
      return !(error instanceof ApiError);
    }
  }

  #keyOf(call: Call): Key | Promise<Key> {
    const found = credentialsOf(call).map((token) => this.#parts.keys.find(token));
    return found.some((entry) => entry instanceof Promise)
      ? Promise.all(found).then(onlyKey)
      : onlyKey(found as (Key | undefined)[]);
  }
}

function onlyKey(found: readonly (Key | undefined)[]): Key {
  const [key, ...others] = found.filter((entry) => entry !== undefined);
  if (!key) {
    throw fail(
      'invalid_api_key',
      'The API key is not valid: check that it was copied whole, and that it was not revoked and has not expired.',
    );
  }
  if (others.some((other) => other.id !== key.id)) {
    throw fail('invalid_api_key', 'The request carries two different API keys; send one.');
  }
  return key;
}

/** Every credential in the request, once each. */
export function credentialsOf(call: Call): string[] {
  const isNative = call.path.startsWith('/v1beta');
  const inQuery = call.query.includes('key=') ? new URLSearchParams(call.query).get('key') : null;
  if (inQuery !== null && !isNative) {
    throw fail(
      'invalid_api_key',
      'Keys in the address are accepted on /v1beta only; send the key in the Authorization header.',
    );
  }
  const { rawHeaders: fields } = call.request;
  const tokens: string[] = inQuery === null ? [] : [inQuery];
  for (let n = 0; n < fields.length; n += 2) {
    const name = fields[n];
    const value = fields[n + 1] ?? '';
    if (name === 'authorization') {
      if (/^bearer /i.test(value)) tokens.push(value.slice(7).trim());
    } else if (name === 'x-api-key' || (isNative && name === 'x-goog-api-key')) {
      tokens.push(value.trim());
    }
  }
  if (tokens.length === 0)
    throw fail('invalid_api_key', 'No API key was given. Send it as "Authorization: Bearer <key>".');
  return tokens.length === 1 ? tokens : [...new Set(tokens)];
}
