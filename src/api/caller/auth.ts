/**
 * Authentication of callers (G 5). Credentials of other services beside a valid key are ignored; two valid keys are
 * rejected.
 */
import { FailedAttempts, type Key, type KeyCache } from '../../access/keys/index.ts';
import type { Catalog } from '../../catalog/index.ts';
import { ApiError, type Clock, fail, isAddressIn } from '../../core/index.ts';
import { type Caller, callersOf } from '../../gateway/index.ts';
import type { Call } from '../../platform/web/index.ts';
import * as rules from '../../rules/index.ts';

export interface AuthServices {
  readonly keys: KeyCache;
  /** The key that a request of the console names by its id, when its cookie may use it. */
  readonly keyOfSession: (call: Call, id: string) => Promise<Key>;
  readonly catalog: () => Catalog;
  readonly clock: Clock;
  readonly failuresPerMinute: number;
  /** Keeps the bodies of the call. */
  readonly capture: (call: Call, key: Key) => void;
}

export class Auth {
  readonly #services: AuthServices;
  readonly #failures: FailedAttempts;

  constructor(services: AuthServices) {
    this.#services = services;
    this.#failures = new FailedAttempts(services.clock, services.failuresPerMinute, 'API key');
  }

  /** Without a promise when the key is cached. */
  identify(call: Call): Caller | Promise<Caller> {
    if (isGenerateClient(call)) call.errorFormat = 'generate';
    else if (isMessagesClient(call)) call.errorFormat = 'messages';
    const reject = (error: unknown): never => {
      // A database error is not a failed guess of the caller.
      if (error instanceof ApiError) this.#failures.reject(call.address, error);
      throw error;
    };
    let key: Key | Promise<Key>;
    try {
      key = this.#keyOf(call, this.#failures.isOverLimit(call.address));
    } catch (error) {
      return reject(error);
    }
    return key instanceof Promise
      ? key.catch(reject).then((found) => this.callerOf(call, found))
      : this.callerOf(call, key);
  }

  callerOf(call: Call, key: Key): Caller {
    // First, so that a refused call of a known key is in the request log.
    // Of several groups the first that there is, until a request has named its model.
    const [group] = callersOf(this.#services.catalog(), key);
    call.addLogFields({ user: key.userId, key: key.id, group: group?.group.id ?? key.groups[0] });
    if (key.allowedAddresses && !isAddressIn(call.address, key.allowedAddresses)) {
      throw fail('key_not_allowed', 'This API key may not be used from your network address.');
    }
    // Removing the last group of a key revokes it; this replica may see the two changes in either order.
    if (!group) throw fail('invalid_api_key', "The API key's provider group no longer exists.");
    call.owner = key.id;
    if (key.captureUntil !== null) this.#services.capture(call, key);
    return group;
  }

  /** For WebSockets, which outlive the call that opened them. A database error does not close them. */
  async isStillValid(call: Call, caller: Caller): Promise<boolean> {
    try {
      return (
        (await this.#keyOf(call)).id === caller.key.id && callersOf(this.#services.catalog(), caller.key).length > 0
      );
    } catch (error) {
      return !(error instanceof ApiError);
    }
  }

  /**
   * A request of the console names its key by id, and is judged by its cookie alone. Without that header cookies count
   * for nothing.
   */
  #keyOf(call: Call, isSuspect = false): Key | Promise<Key> {
    const id = call.header(rules.KEY_HEADER);
    if (id !== undefined) return this.#services.keyOfSession(call, id);
    const found = credentialsOf(call).map((token) => this.#services.keys.find(token, isSuspect));
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
      'The API key is not valid: check that it was copied completely, and that it was not revoked and has not expired.',
    );
  }
  if (others.some((other) => other.id !== key.id)) {
    throw fail('invalid_api_key', 'The request carries two different API keys; send one.');
  }
  return key;
}

/** Each may cost a query and a place in the key cache, and the headers of one request have room for a thousand. */
const MAX_CREDENTIALS = 8;

/**
 * By its path, or by a key in the form of the generate-content family and no other: it reads the shapes of that family
 * (G 4.7).
 */
const isGenerateClient = (call: Call): boolean =>
  rules.takesGenerateCredentials(call.path) &&
  (rules.errorFormatOf(call.path) === 'generate' || hasOnlyGenerateKey(call));

const isMessagesClient = (call: Call): boolean =>
  rules.isSharedWithMessages(call.path) && call.header(rules.MESSAGES_VERSION_HEADER) !== undefined;

const hasOnlyGenerateKey = (call: Call): boolean =>
  call.header('authorization') === undefined &&
  call.header('x-api-key') === undefined &&
  (call.header('x-goog-api-key') !== undefined || keyInQuery(call) !== null);

/** The name of the parameter may be percent-encoded. */
const keyInQuery = ({ query }: Call): string | null =>
  query.includes('key=') || query.includes('%') ? new URLSearchParams(query).get('key') : null;

export function credentialsOf(call: Call): string[] {
  const isGeneratePath = rules.takesGenerateCredentials(call.path);
  const inQuery = keyInQuery(call);
  if (inQuery !== null && !isGeneratePath) {
    throw fail(
      'invalid_api_key',
      'Keys in the URL are accepted on /v1beta and /v1/models only; send the key in the Authorization header.',
    );
  }
  const { rawHeaders } = call.request;
  const credentials: string[] = inQuery === null ? [] : [inQuery];
  for (let n = 0; n < rawHeaders.length; n += 2) {
    const name = rawHeaders[n];
    const value = rawHeaders[n + 1] ?? '';
    if (name === 'authorization') {
      if (/^bearer /i.test(value)) credentials.push(value.slice(7).trim());
    } else if (name === 'x-api-key' || (isGeneratePath && name === 'x-goog-api-key')) {
      credentials.push(value.trim());
    }
  }
  if (credentials.length === 0)
    throw fail('invalid_api_key', 'No API key was given. Send it as "Authorization: Bearer <key>".');
  const different = credentials.length === 1 ? credentials : [...new Set(credentials)];
  if (different.length > MAX_CREDENTIALS)
    throw fail('invalid_api_key', `The request carries more than ${MAX_CREDENTIALS} credentials; send one API key.`);
  return different;
}
